// Which values must never reach what Berth records or shows (docs/decisions/0015).

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { type Environment } from '../workspace/environment.ts'

const telling =
  'KEY TOKEN SECRET SECRETS PASS PASSWORD PASSWD PASSPHRASE CREDENTIAL CREDENTIALS AUTH AUTHORIZATION DSN COOKIE PAT'
const secretName = new RegExp(`(^|_)([A-Z0-9]*(${telling.replaceAll(' ', '|')}))(_|$)`, 'i')
const harmlessName = /^(SSH_AUTH_SOCK|GIT_CONFIG_KEY_\d+|XAUTHORITY|\w*_(FILE|PATH|DIR|SOCK))$/i
const lengthMin = 8

/** A variable whose value nobody should see, by its name. */
export const isSecretName = (name: string): boolean => secretName.test(name) && !harmlessName.test(name)

/** Values of such variables, and passwords inside addresses. Plain words are left alone: they would blot out text. */
export const secretValues = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined) return []
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^@\s/]+)@/i.exec(value)?.[1]
    const found = [...(isSecretName(name) ? [value] : []), ...(password === undefined ? [] : [password])]
    return found.filter(isOpaque)
  })

/** Secrets in the `.env` files of a folder. */
export function dotEnvSecrets(folder: string): string[] {
  return namesIn(folder)
    .filter(name => name === '.env' || name.startsWith('.env.'))
    .flatMap(name => secretValues(parsed(join(folder, name))))
}

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
    // To read a pipe would be to wait for whoever writes into it.
    if (!statSync(file).isFile()) return {}
    return parseEnv(readFileSync(file, 'utf8')) as Environment
  } catch {
    return {}
  }
}
