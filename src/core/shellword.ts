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

/** The call of `berth` with one word, or the value of one `--flag=value`, put right. */
export function callPutRight(args: readonly string[], wrong: string, right: string): string {
  const at = args.findIndex(word => word === wrong || (word.startsWith('--') && word.endsWith(`=${wrong}`)))
  return callOf(args.map((word, place) => (place === at ? word.replace(wrong, () => right) : word)))
}

/** The call of git that works in `dir`, from wherever it is typed. */
export const gitCall = (dir: string, ...words: string[]): string =>
  ['git', '-C', dir, ...words].map(shellWord).join(' ')

/** A command that means the repository `repo` wherever it is typed; undefined: the one that it is typed in. */
export function meaning(repo: string | undefined, command: string): string {
  if (repo === undefined || / --(repo |help$)/.test(command)) return command
  const place = shellWord(repo)
  // What is the person's own, or names its file, is the same everywhere.
  if (/^git (?!-C |config --(global|file) )/.test(command)) return command.replace('git', `git -C ${place}`)
  return command.startsWith('berth ') ? command.replace(/( -- .*)?$/s, ` --repo ${place}$1`) : command
}
