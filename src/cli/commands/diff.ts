// `berth diff`: what a task changed, against its merge base with the target.

import { type TaskDiff } from '../../daemon/diff.ts'
import { visible } from '../columns.ts'
import { type Command, type Io, repoOf, withClient } from '../io.ts'

type Options = { stat?: boolean; nameOnly?: boolean }

export const diff: Command<Options> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  const task = await withClient(io, { need: 'read' }, client => client.call('show', { repo, task: args[0]! }))
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { taskDiff } = await import('../../daemon/diff.ts')
  const patch = !options.stat && !options.nameOnly
  const colour = !options.json && io.print.paint.isColorSupported
  const found = await taskDiff(await repositoryAt(repo, io.env), task, { patch, colour })
  if (options.json) io.print.json(document(task.task, found))
  else if (options.nameOnly) for (const { path } of found.files) io.print.out(path)
  else if (options.stat) printStat(io, found)
  else if (found.patch) io.print.bytes(found.patch)
  return 0
}

function document(task: string, { base, files, patch }: TaskDiff): object {
  const listed = files.map(({ path, from, change, insertions, deletions }) => ({
    path,
    ...(from && { from }),
    change,
    insertions,
    deletions,
  }))
  return { berth: 1, task, base, files: listed, ...(patch && { patch: new TextDecoder().decode(patch) }) }
}

function printStat({ print }: Io, { files }: TaskDiff): void {
  const counts = files.map(file =>
    file.insertions === null ? 'binary' : `+${file.insertions} -${file.deletions}`,
  )
  const width = Math.max(0, ...counts.map(count => count.length))
  for (const [at, file] of files.entries()) {
    const name = file.from ? `${file.from} -> ${file.path}` : file.path
    print.out(`${counts[at]!.padStart(width)}  ${file.change.padEnd(8)}  ${visible(name)}`)
  }
  const sum = (key: 'insertions' | 'deletions') => files.reduce((total, file) => total + (file[key] ?? 0), 0)
  print.out(
    `${files.length} file${files.length === 1 ? '' : 's'} changed, +${sum('insertions')} -${sum('deletions')}`,
  )
}
