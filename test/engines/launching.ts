// The input of a launch, with every field filled in, for tests.

import { type LaunchInput } from '../../src/engines/engine.ts'

export const launchInput = (given: Partial<LaunchInput> = {}): LaunchInput => ({
  program: ['/usr/bin/agent'],
  prompt: 'do it',
  promptFile: '/state/prompt.md',
  session: '11111111-1111-4111-8111-111111111111',
  home: '/home/task',
  temp: '/tmp/run',
  worktree: '/repo.berths/task',
  gitCommonDir: '/repo/.git',
  permission: 'auto',
  env: { HOME: '/home/task', PATH: '/usr/bin' },
  windows: false,
  root: false,
  ...given,
})
