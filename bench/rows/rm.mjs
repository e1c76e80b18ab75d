// `rm` returning, the loss survey included, against `git worktree remove --force`.
import { join } from 'node:path'
import { berth, connect, git, makeRepository, makeWorld, median, now, timed, until } from '../world.mjs'

export async function measure(print) {
  for (const [files, rounds, limit] of [
    [200, 11, 3],
    [50_000, 5, 0.3],
  ]) {
    const world = makeWorld()
    makeRepository(world, files)
    berth(world, ['daemon', 'start'])
    const client = await connect(world)
    const pairs = []
    for (let i = 0; i < rounds; i++) {
      const name = `t${i}`
      await client.call('submit', {
        call: name,
        repo: world.repo,
        tasks: [
          {
            name,
            brief: 'do it',
            spec: { title: 'bench', engine: 'command', command: 'true', changes: 'optional', land: 'never' },
          },
        ],
        trust: true,
        env: world.env,
        flags: {},
      })
      await until('the task to rest', async () =>
        (await client.call('ls', { repo: world.repo, all: true })).tasks.some(
          task => task.task === name && task.status === 'ready',
        ),
      )
      const from = now()
      const { removed } = await client.call('rm', {
        repo: world.repo,
        tasks: [name],
        mode: { save: false, discard: false, branch: false, stop: false, unlock: false, by: 'person' },
        wait: false,
        cwd: world.dir,
      })
      const ours = now() - from
      if (!['aside', 'removed'].includes(removed[0].is)) throw new Error(JSON.stringify(removed))
      await until(
        'the trash to be emptied',
        async () => (await client.call('show', { repo: world.repo, task: name })).worktree === null,
      )
      const path = join(world.dir, `raw${i}`)
      git(world, world.repo, 'worktree', 'add', '-q', '-b', `raw${i}`, path)
      pairs.push([ours, timed(() => git(world, world.repo, 'worktree', 'remove', '--force', path))])
    }
    client.close()
    berth(world, ['daemon', 'stop', '--stop-runs'])
    const ratio = median(pairs.map(([a, b]) => a / b))
    const ms = side => `${median(pairs.map(pair => pair[side])).toFixed(0)} ms`
    print({
      what: `\`rm\` returning, ${files} files`,
      ours: ms(0),
      raw: `git worktree remove --force ${ms(1)}`,
      ratio,
      target: `≤ ${limit} ×`,
      met: ratio <= limit,
    })
  }
}
