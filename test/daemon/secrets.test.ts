// Which variables are secrets, and facts without any.

import { expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { scrubbed } from '../../src/daemon/scrub.ts'
import { isSecretName, secretValues } from '../../src/daemon/secrets.ts'

test.each([
  'ANTHROPIC_API_KEY',
  'OPENAI_APIKEY',
  'AWS_SECRET_ACCESS_KEY',
  'GITHUB_TOKEN',
  'npm_token',
  'DB_PASSWORD',
  'PGPASS',
  'SENTRY_DSN',
  'SESSION_SECRET',
])('%s is a secret', name => expect(isSecretName(name)).toBe(true))

test.each([
  'SSH_AUTH_SOCK',
  'GIT_AUTHOR_NAME',
  'MAX_TOKENS',
  'KEYBOARD',
  'PATH',
  'PWD',
  'COMPASS_DIR',
  'DESKTOP_SESSION',
  'GOOGLE_APPLICATION_CREDENTIALS_FILE',
])('%s is none', name => expect(isSecretName(name)).toBe(false))

test('plain words, numbers and paths are no secrets; passwords in addresses are', () => {
  expect(
    secretValues({
      A_KEY: 'development',
      B_TOKEN: '1234567890',
      C_SECRET: '/run/secrets/x',
      D_TOKEN: 'ghp_abcdef123',
      DATABASE_URL: 'postgres://app:s3cr3t-pass@db/app',
    }),
  ).toEqual(['ghp_abcdef123', 's3cr3t-pass'])
})

test('a fact loses every known secret wherever it stands, but what Berth acts on stays exact', () => {
  const secrets = new Set(['ghp_abcdef123'])
  const of = { project: 'p', task: 't' }
  const failed: Fact = {
    kind: 'workspace.failed',
    ...of,
    step: 'setup',
    reason: 'fatal: https://ghp_abcdef123@host/',
    tail: ['a', 'b ghp_abcdef123 c'],
  }
  const claimed: Fact = {
    kind: 'workspace.claimed',
    ...of,
    path: '/ghp_abcdef123',
    branch: 'b',
    home: 'h',
  }
  expect(scrubbed([failed, claimed], secrets)).toEqual([
    { ...failed, reason: 'fatal: https://[redacted]@host/', tail: ['a', 'b [redacted] c'] },
    claimed,
  ])
})
