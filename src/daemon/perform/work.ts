// What a run did to its worktree, as observations: the commits it made and the files that differ since it began.

import { type Event, type Fact } from '../../core/event.ts'
import { type ChangedPath } from '../../git/changes.ts'
import { git, inDirectory } from '../../git/git.ts'
import { type Counted, type Ground } from './collect.ts'

/** A run that rewrites a whole tree is told in part; git has the rest. */
const pathsMax = 2_000
const commitsMax = 200

/** Told once: what an earlier run of the task left in the same way is not this run's doing. */
export async function workFacts(
  ground: Ground,
  changes: Counted,
  base: string,
  byBerth: string | undefined,
): Promise<Fact[]> {
  const known = knownOf(ground)
  const between = [`${base}..HEAD`, `^${changes.since}`]
  const commits = await commitsOf(ground, between, known.isLater ? 'person' : 'agent', byBerth)
  return [
    ...commits.filter(fact => !known.commits.has(fact.commit)),
    ...changes.paths
      .slice(0, pathsMax)
      .map(path => changedFact(ground, path))
      .filter(fact => known.files.get(fact.path) !== shapeOf(fact)),
  ]
}

type Changed = Fact & { kind: 'file.changed' }

/** `isLater`: the run was looked at before, so what it has not left then is of a person. */
function knownOf({ shell, of }: Ground): {
  files: Map<string, string>
  commits: Set<string>
  isLater: boolean
} {
  let isLater = false
  const files = new Map<string, string>()
  const commits = new Set<string>()
  const { project, task } = of
  for (const event of shell.store.read({
    project,
    task,
    kinds: ['file.changed', 'commit.made', 'run.collected'],
  }) as Iterable<Event>) {
    if (event.kind === 'file.changed') files.set(event.path, shapeOf(event))
    if (event.kind === 'commit.made') commits.add(event.commit)
    if (event.kind === 'run.collected' && event.run === of.run) isLater = true
  }
  return { files, commits, isLater }
}

const shapeOf = ({ change, insertions, deletions }: Changed): string =>
  `${change} ${insertions ?? '-'} ${deletions ?? '-'}`

const changedFact = ({ of }: Ground, changed: ChangedPath): Changed => ({
  kind: 'file.changed',
  ...of,
  path: changed.path,
  change: changed.change,
  ...(changed.insertions === null ? {} : { insertions: changed.insertions }),
  ...(changed.deletions === null ? {} : { deletions: changed.deletions }),
  ...(changed.from === undefined ? {} : { from: changed.from }),
})

async function commitsOf(
  { site, path, of, run }: Ground,
  between: string[],
  otherwise: 'agent' | 'person',
  byBerth: string | undefined,
): Promise<(Fact & { kind: 'commit.made' })[]> {
  const args = ['log', '--reverse', `--max-count=${commitsMax}`, '-z', '--format=%H %s', ...between]
  const { code, out } = await git(inDirectory(site.repo, path), args)
  if (code !== 0) return []
  const mark = `berth: uncommitted work of ${of.task}#${run.attempt}`
  return out
    .toString('utf8')
    .split('\0')
    .filter(line => line !== '')
    .map(line => {
      const [commit = '', subject = ''] = [
        line.slice(0, line.indexOf(' ')),
        line.slice(line.indexOf(' ') + 1),
      ]
      const by = commit === byBerth && subject === mark ? 'berth' : otherwise
      return { kind: 'commit.made', ...of, commit, subject, by }
    })
}
