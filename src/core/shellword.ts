// What a person types: words of a POSIX shell, for hints that work when they are typed.

/** One word of a POSIX shell, quoted only if it must be. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** The command that shows a line of a file in the person's editor. */
export const editAt = (file: string, line: number): string => `\${EDITOR:-vi} +${line} ${shellWord(file)}`

/** The call of `berth` with these arguments. */
export const callOf = (args: readonly string[]): string => ['berth', ...args].map(shellWord).join(' ')

/** The call of `berth` with these arguments and one more flag: before `--`, which ends the flags, else at the end. */
export function callWith(args: readonly string[], flag: string): string {
  const end = args.indexOf('--')
  const at = end < 0 ? args.length : end
  return callOf([...args.slice(0, at), flag, ...args.slice(at)])
}

/** The call of git that works in `dir`, from wherever it is typed. */
export const gitCall = (dir: string, ...words: string[]): string =>
  ['git', '-C', dir, ...words].map(shellWord).join(' ')
