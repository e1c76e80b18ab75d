// Secrets out of bytes: streaming, pure, and the same answer however the bytes were cut.

export type Redactor = {
  /** Gives what is safe by now; what may be the beginning of a secret is held back, within bounds. */
  push(bytes: Uint8Array): Uint8Array
  /** After a short silence: gives up to two held bytes, so that a prompt is whole on the screen. */
  flush(): Uint8Array
  /** The rest. Nothing may be pushed after it. */
  end(): Uint8Array
}

/** `values` are known secrets: those under 6 bytes are left alone. `extra` patterns apply to single lines. */
export declare function makeRedactor(input: {
  values: readonly string[]
  extra?: readonly RegExp[]
}): Redactor

export declare function redactText(text: string, values?: readonly string[]): string
