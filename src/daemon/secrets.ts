// Which values must never reach what Berth records or shows (docs/decisions/0015).

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { type Environment } from '../workspace/environment.ts'

const secretName =
  /KEY|TOKEN|SECRET|PASS(WORD|WD|PHRASE)?$|PASSWORD|CREDENTIAL|AUTH|PRIVATE|DSN|COOKIE|SESSION/i
const harmlessName =
  /^(SSH_AUTH_SOCK|GIT_CONFIG_KEY_\d+|XAUTHORITY|DESKTOP_SESSION|XDG_SESSION_\w+|AUTHOR\w*)$/i
const lengthMin = 8

/** Values of variables with the name of a secret. Paths and plain words are left alone: they would blot out text. */
export const secretValues = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && secretName.test(name) && !harmlessName.test(name) && isOpaque(value)
      ? [value]
      : [],
  )

/** Secrets in the `.env` files of a folder: only what looks like one by its name. */
export function dotEnvSecrets(folder: string): string[] {
  return namesIn(folder)
    .filter(name => name === '.env' || name.startsWith('.env.'))
    .flatMap(name => secretValues(parsed(join(folder, name))))
}

/** Where secrets lie: `https://user:password@host` too. */
const isOpaque = (value: string): boolean =>
  value.length >= lengthMin && !value.startsWith('/') && !/^(true|false|\d+|[a-z]+)$/i.test(value)

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function parsed(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8')) as Environment
  } catch {
    return {}
  }
}
