// What is published about the command line is what the code does. `npm run docs` writes it anew.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { reasonCodes } from '../../src/core/api.ts'
import { exitCodes } from '../../src/core/errors.ts'
import { schemaOf, type ShapeName, shapes } from '../../src/core/schema.ts'
import { settingsSchema } from '../../src/core/settings.ts'
import { version } from '../../src/core/version.ts'
import { cliPage } from './page.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const schemas = join(root, 'docs/schemas')
const text = (schema: object): string => `${JSON.stringify(schema, null, 2)}\n`

test('docs/cli.md is up to date', async () => {
  await expect(cliPage()).toMatchFileSnapshot(join(root, 'docs/cli.md'))
})

test.each(Object.keys(shapes) as ShapeName[])('the schema of %s is up to date', async name => {
  await expect(text(schemaOf(name))).toMatchFileSnapshot(join(schemas, `${name}.schema.json`))
})

test('the schema of berth.toml is up to date, and there is no other', async () => {
  await expect(text(settingsSchema())).toMatchFileSnapshot(join(schemas, 'berth.toml.schema.json'))
  const expected = [...Object.keys(shapes), 'berth.toml'].map(name => `${name}.schema.json`)
  expect(readdirSync(schemas).toSorted()).toEqual(expected.toSorted())
})

test('every error code and every reason code stands in docs/cli.md', () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
  const missing = [...Object.keys(exitCodes), ...Object.keys(reasonCodes)].filter(name => !page.includes(`\`${name}\``))
  expect(missing).toEqual([])
})

test('the version in the code is that of the package', () => {
  expect(version).toBe((JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version)
})
