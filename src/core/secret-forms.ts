// The shapes in which a known secret may appear: as it is, and as other programs write it down.

import { utf8 } from './utf8.ts'

const encodedMin = 6
const lineMin = 16

/** Bytes of each form, longest first; values under `shortest` UTF-8 bytes have none. */
export function formsOf(value: string, shortest = 6): Uint8Array[] {
  const found = new Map<string, Uint8Array>()
  const add = (form: string, least = encodedMin) => {
    const bytes = utf8(form)
    if (bytes.length >= least) found.set(form, bytes)
  }
  for (const part of partsOf(value, shortest)) {
    for (const form of written(part)) add(form)
    for (const form of base64Forms(utf8(part))) add(form)
    for (const form of hexForms(utf8(part))) add(form)
  }
  return [...found.values()].sort((a, b) => b.length - a.length)
}

/** The value, without the blanks around it, and each of its longer lines: a key file may be printed line by line. */
function partsOf(value: string, shortest: number): string[] {
  const trimmed = value.trim()
  const lines = trimmed.includes('\n')
    ? trimmed.split(/\r?\n/).filter(line => line.trim().length >= lineMin)
    : []
  const parts = [trimmed, trimmed.replace(/\r?\n/g, '\r\n'), ...lines.map(line => line.trim())]
  return [...new Set(parts)].filter(part => utf8(part).length >= shortest)
}

function written(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const url = encodeURIComponent(wellFormed(value))
  const html = value
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
  return [
    value,
    json,
    json.replaceAll('/', '\\/'),
    // Go and some others write these three as code units.
    json.replace(/[<>&]/g, unit),
    json.replace(/[^\x20-\x7e]/g, unit),
    JSON.stringify(json).slice(1, -1),
    JSON.stringify(json.replaceAll('/', '\\/')).slice(1, -1),
    url,
    url.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase()),
    url.replaceAll('%20', '+'),
    url.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`),
    encodeURIComponent(url),
    value.replaceAll("'", `'\\''`),
    value.replaceAll("'", `'"'"'`),
    value.replace(/[^\w@%+=:,./-]/g, character => `\\${character}`),
    html,
    html.replaceAll("'", '&#39;'),
  ]
}

const unit = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** `encodeURIComponent` throws for half a surrogate pair. */
const wellFormed = (value: string) =>
  value.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** At each of the three places where a value may begin inside encoded text: the digits that depend on it alone. */
function base64Forms(bytes: Uint8Array): string[] {
  const forms = [0, 1, 2].map(before => {
    const padded = new Uint8Array(before + bytes.length)
    padded.set(bytes, before)
    const first = Math.ceil((before * 8) / 6)
    const last = Math.floor((padded.length * 8) / 6)
    return base64(padded).slice(first, last)
  })
  return [...forms, ...forms.map(form => form.replaceAll('+', '-').replaceAll('/', '_'))]
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3)
    const word = (a << 16) | (b << 8) | c
    text += [18, 12, 6, 0].map(shift => alphabet[(word >> shift) & 63]).join('')
  }
  return text
}

function hexForms(bytes: Uint8Array): string[] {
  const hex = Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  return [hex, hex.toUpperCase()]
}
