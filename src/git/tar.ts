// The tar format (ustar with pax records for what it cannot hold): headers to bytes and back.

import { bytesOf, hasRawBytes, pathOf } from './path.ts'

export type TarHeader = {
  path: string
  kind: 'file' | 'folder' | 'link'
  size: number
  mode: number
  /** Seconds since 1970. */
  mtime: number
  /** What a link says. */
  link: string
}

const block = 512
const types = { file: '0', folder: '5', link: '2' } as const

/** Zeroes up to the next block. */
export const padding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block)

/** The header blocks of one entry; names that are long or not plain ASCII go into a pax record before it. */
export function tarHeader(header: TarHeader): Buffer {
  const path = bytesOf(header.kind === 'folder' ? `${header.path}/` : header.path)
  const link = bytesOf(header.link)
  const records: Buffer[] = []
  if (hasRawBytes(header.path) || hasRawBytes(header.link))
    records.push(record('hdrcharset', Buffer.from('BINARY')))
  if (!isPlain(path)) records.push(record('path', path))
  if (!isPlain(link)) records.push(record('linkpath', link))
  if (header.size >= 8 ** 11) records.push(record('size', Buffer.from(String(header.size))))
  const plain = ustar({ ...header, type: types[header.kind], path, link })
  if (records.length === 0) return plain
  const body = Buffer.concat(records)
  const pax = ustar({
    ...header,
    type: 'x',
    path: Buffer.from('pax'),
    link: Buffer.alloc(0),
    size: body.length,
  })
  return Buffer.concat([pax, body, padding(body.length), plain])
}

/** The next header, with the pax records before it; undefined at the end. Throws where it is not a header. */
export async function parseHeader(take: (length: number) => Promise<Buffer>): Promise<TarHeader | undefined> {
  let records = new Map<string, Buffer>()
  for (;;) {
    const bytes = await take(block)
    if (bytes.every(byte => byte === 0)) return undefined
    if (checksum(bytes) !== octal(bytes, 148, 8)) throw new Error('a header of the archive is damaged')
    const size = Number(records.get('size')?.toString() ?? octal(bytes, 124, 12))
    const type = String.fromCharCode(bytes[156] ?? 0)
    if (type === 'x') {
      const body = await take(size + padding(size).length)
      records = parseRecords(body.subarray(0, size))
      continue
    }
    const kind = type === '5' ? 'folder' : type === '2' ? 'link' : 'file'
    return {
      path: pathOf(records.get('path') ?? text(bytes, 0, 100)).replace(/\/$/, ''),
      kind,
      size: kind === 'file' ? size : 0,
      mode: octal(bytes, 100, 8),
      mtime: octal(bytes, 136, 12),
      link: pathOf(records.get('linkpath') ?? text(bytes, 157, 100)),
    }
  }
}

type Raw = { type: string; path: Buffer; link: Buffer; size: number; mode: number; mtime: number }

function ustar({ type, path, link, size, mode, mtime }: Raw): Buffer {
  const bytes = Buffer.alloc(block)
  path.copy(bytes, 0, 0, 100)
  writeOctal(bytes, mode, 100, 8)
  writeOctal(bytes, 0, 108, 8)
  writeOctal(bytes, 0, 116, 8)
  writeOctal(bytes, size < 8 ** 11 ? size : 0, 124, 12)
  writeOctal(bytes, Math.max(0, mtime), 136, 12)
  bytes.write(type, 156, 'latin1')
  link.copy(bytes, 157, 0, 100)
  bytes.write('ustar\u000000', 257, 'latin1')
  writeOctal(bytes, checksum(bytes), 148, 8)
  return bytes
}

const isPlain = (bytes: Buffer): boolean =>
  bytes.length <= 100 && bytes.every(byte => byte > 31 && byte < 127)

/** `<length> <key>=<value><LF>`, where the length counts itself. */
function record(key: string, value: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')])
  let length = body.length + 1
  while (length !== body.length + String(length).length) length = body.length + String(length).length
  return Buffer.concat([Buffer.from(String(length)), body])
}

function parseRecords(bytes: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>()
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at)
    const length = Number(bytes.toString('latin1', at, space))
    if (space < 0 || !Number.isInteger(length) || length <= 0)
      throw new Error('a record of the archive is damaged')
    const equals = bytes.indexOf(61, space)
    records.set(bytes.toString('latin1', space + 1, equals), bytes.subarray(equals + 1, at + length - 1))
    at += length
  }
  return records
}

const octal = (bytes: Buffer, from: number, length: number): number =>
  Number.parseInt(text(bytes, from, length).toString('latin1').trim() || '0', 8)

function text(bytes: Buffer, from: number, length: number): Buffer {
  const field = bytes.subarray(from, from + length)
  const end = field.indexOf(0)
  return end < 0 ? field : field.subarray(0, end)
}

function writeOctal(bytes: Buffer, value: number, from: number, length: number): void {
  bytes.write(value.toString(8).padStart(length - 1, '0'), from, length - 1, 'latin1')
}

/** The sum of all bytes, with the checksum's own field as spaces. */
function checksum(bytes: Buffer): number {
  let sum = 0
  for (let at = 0; at < block; at++) sum += at >= 148 && at < 156 ? 32 : (bytes[at] ?? 0)
  return sum
}
