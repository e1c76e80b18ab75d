// Completion scripts for shells. Names of tasks are the first column of `berth ls`.

export type Verbs = {
  name: string
  summary: string
  flags: { flag: string; summary: string }[]
  tasks: boolean
}[]

const tasksCommand = "berth ls 2>/dev/null | awk 'NR>1 {print $1}'"

export function bash(verbs: Verbs): string {
  const cases = verbs.map(({ name, flags, tasks }) => {
    const words = flags.map(one => one.flag).join(' ')
    return `    ${name}) words='${words}'${tasks ? `; [[ $word == -* ]] || words=$(${tasksCommand})` : ''} ;;`
  })
  return `# bash completion for berth: source <(berth completion bash)
_berth() {
  local word=\${COMP_WORDS[COMP_CWORD]} verb=\${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${verbs.map(verb => verb.name).join(' ')} --help --version' -- "$word"))
    return
  fi
  case $verb in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _berth berth
`
}

export function zsh(verbs: Verbs): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, one => `\\${one}`)
  const lines = verbs.map(verb => `    '${verb.name}:${quoted(verb.summary)}'`)
  const cases = verbs.map(({ name, flags, tasks }) => {
    const specs = flags.map(one => `'${one.flag}[${quoted(one.summary)}]'`).join(' ')
    return `    ${name}) _arguments ${specs} '*:${tasks ? 'task:_berth_tasks' : 'argument:_files'}' ;;`
  })
  return `#compdef berth
# zsh completion for berth: berth completion zsh > "\${fpath[1]}/_berth"
_berth_tasks() {
  local -a names
  names=(\${(f)"$(${tasksCommand})"})
  _describe task names
}
_berth() {
  local -a verbs
  verbs=(
${lines.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words; (( CURRENT-- ))
  case $verb in
${cases.join('\n')}
  esac
}
_berth "$@"
`
}

export function fish(verbs: Verbs): string {
  const quoted = (text: string) => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const after = (name: string) => `complete -c berth -n '__fish_seen_subcommand_from ${name}'`
  const lines = verbs.flatMap(({ name, summary, flags, tasks }) => [
    `complete -c berth -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`,
    ...flags.map(one => `${after(name)} -l ${one.flag.slice(2)} -d '${quoted(one.summary)}'`),
    ...(tasks
      ? [
          `complete -c berth -f -n '__fish_seen_subcommand_from ${name}' -a "(${tasksCommand.replaceAll('$', '\\$')})"`,
        ]
      : []),
  ])
  return `# fish completion for berth: berth completion fish > ~/.config/fish/completions/berth.fish
complete -c berth -f
${lines.join('\n')}
`
}
