// Talking to a remote: bounded, unattended, and leaving nothing but the one tracking branch.

import { readSettings } from './config.ts'
import { type Environment, type Git, git, type GitResult, reasonOf } from './git.ts'

export type RemoteRequest = { remote: string; timeoutMs: number; signal?: AbortSignal | undefined }

/**
 * Brings one remote-tracking branch up to date (docs/decisions/0017). Returns why not, if not. A branch that the
 * remote does not have is no failure.
 */
export async function fetchTarget(
  at: Git,
  request: RemoteRequest & { target: string },
): Promise<string | undefined> {
  const { remote, target } = request
  const refspec = `+refs/heads/${target}:refs/remotes/${remote}/${target}`
  const flags = [
    '--quiet',
    '--no-tags',
    '--no-recurse-submodules',
    '--no-write-fetch-head',
    '--no-auto-maintenance',
  ]
  const result = await unattended(at, ['fetch', ...flags, remote, refspec], request)
  if (result.code === 0 || /couldn't find remote ref/.test(result.err)) return undefined
  return result.timedOut
    ? `'${remote}' did not answer within ${request.timeoutMs / 1000} s`
    : reasonOf(result)
}

/** The branch that the remote's HEAD names, asked over the network. */
export async function remoteHead(
  at: Git,
  request: RemoteRequest,
): Promise<{ branch?: string; reason?: string }> {
  const result = await unattended(at, ['ls-remote', '--symref', request.remote, 'HEAD'], request)
  if (result.code !== 0) return { reason: reasonOf(result) }
  const branch = /^ref: refs\/heads\/([^\t\n]+)\tHEAD$/m.exec(result.out.toString('utf8'))?.[1]
  return branch === undefined
    ? { reason: `'${request.remote}' does not say which branch is its default` }
    : { branch }
}

/** Pushes a commit to the remote's branch, never forced: the remote refuses what is not a continuation. */
export async function pushTarget(
  at: Git,
  request: RemoteRequest & { target: string; to: string },
): Promise<{ is: 'moved' } | { is: 'moved-meanwhile' } | { is: 'failed'; reason: string }> {
  const refspec = `${request.to}:refs/heads/${request.target}`
  const args = [
    'push',
    '--porcelain',
    '--no-verify',
    '--no-follow-tags',
    '--recurse-submodules=no',
    request.remote,
    refspec,
  ]
  const result = await unattended(at, args, request)
  if (result.code === 0) return { is: 'moved' }
  if (/^!\t.*\[rejected\]/m.test(result.out.toString('utf8'))) return { is: 'moved-meanwhile' }
  return { is: 'failed', reason: reasonOf(result) }
}

async function unattended(at: Git, args: string[], request: RemoteRequest): Promise<GitResult> {
  return git(at, args, {
    timeoutMs: request.timeoutMs,
    env: await quietEnvironment(at),
    config: ['credential.interactive=never', 'push.gpgSign=false'],
    lockMs: 1_000,
    ...(request.signal ? { signal: request.signal } : {}),
  })
}

/** No ssh prompt, no credential window: the caller's own ssh command gets `BatchMode`. */
async function quietEnvironment(at: Git): Promise<Environment> {
  const quiet = { GCM_INTERACTIVE: 'never' }
  if (at.env['GIT_SSH'] !== undefined && at.env['GIT_SSH_COMMAND'] === undefined) return quiet
  const own =
    at.env['GIT_SSH_COMMAND'] ?? (await readSettings(at).catch(() => undefined))?.get('core.sshcommand')
  if (own === undefined || own === '') return { ...quiet, GIT_SSH_COMMAND: 'ssh -o BatchMode=yes' }
  const isSsh = /(^|[/\\])ssh(\.exe)?["']?(\s|$)/.test(own)
  return isSsh ? { ...quiet, GIT_SSH_COMMAND: `${own} -o BatchMode=yes` } : quiet
}
