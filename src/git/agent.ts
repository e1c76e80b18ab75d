// Git settings for an agent's environment, so that nothing it types by habit leaves its own branch.

/**
 * A bare `git push` names no branch, so it must move none (case 09): not the target, whatever the person's own
 * `push.default` says, and not after the agent renamed its branch or began one at `origin/main`.
 */
export const agentSettings: readonly { key: string; value: string }[] = [
  { key: 'push.default', value: 'nothing' },
  { key: 'push.autoSetupRemote', value: 'false' },
  { key: 'branch.autoSetupMerge', value: 'false' },
  { key: 'gc.auto', value: '0' },
  { key: 'maintenance.auto', value: 'false' },
]
