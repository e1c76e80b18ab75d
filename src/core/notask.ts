// That there is no task of a name: the nearest name, or the repository that has such a task.

import { BerthError } from './errors.ts'
import { type Fleet } from './fleet.ts'
import { nearest } from './nearest.ts'
import { shellWord } from './shellword.ts'

/**
 * `not-found` for a name that no task of the project has or had; without a project, none at all. `call`: the command
 * that was meant, up to the name.
 */
export function noTask(
  fleet: Fleet,
  project: string | undefined,
  { name, call }: { name: string; call: string },
): BerthError {
  const error = (message: string, hint: string): BerthError => new BerthError('not-found', message, hint)
  const [other] = [...fleet.tasks.values()]
    .filter(task => task.name === name && task.project !== project)
    .flatMap(task => fleet.projects.get(task.project)?.root ?? [])
  if (other !== undefined)
    return error(
      `no task '${name}' here, but '${other}' has one`,
      `${call} ${name} --repo ${shellWord(other)}`,
    )
  const near = nearest(name, namesOf(fleet, project))
  return near === undefined
    ? error(`no task '${name}'`, 'berth ls --all')
    : error(`no task '${name}'; did you mean '${near}'?`, `${call} ${near}`)
}

/** Of all tasks there ever were, in one project or in all. */
export function namesOf(fleet: Fleet, project: string | undefined): string[] {
  const { runs, tasks } = fleet
  return [
    ...[...tasks.values()].filter(task => !project || task.project === project).map(({ name }) => name),
    ...[...runs.values()]
      .filter(({ key }) => !project || key.startsWith(`${project}/`))
      .map(({ task }) => task),
  ]
}
