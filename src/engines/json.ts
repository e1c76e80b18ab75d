// Reading JSON of other programs: whatever is not of the expected shape is simply not there.

export type Json = { [name: string]: unknown }

/** The object that a line is, or undefined: anything else is not an event. */
export function objectIn(line: string): Json | undefined {
  const text = line.trim()
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

export const asObject = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined

/** The object under `name`; an empty one if there is none. */
export const object = (from: Json, name: string): Json => asObject(from[name]) ?? {}

export function text(from: Json, name: string): string | undefined {
  const value = from[name]
  return typeof value === 'string' ? value : undefined
}

export function number(from: Json, name: string): number | undefined {
  const value = from[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The objects in the list under `name`. */
export function objects(from: Json, name: string): Json[] {
  const value: unknown = from[name]
  if (!Array.isArray(value)) return []
  return value.map(asObject).filter(item => item !== undefined)
}

/** The strings under any of the names, without repetition. */
export const texts = (from: Json, names: string[]): string[] => [
  ...new Set(names.flatMap(name => text(from, name) ?? [])),
]
