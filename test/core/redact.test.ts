import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeRedactor, redactText } from '../../src/core/redact.ts'

const token = 'tok_case_A1b2C3d4E5f6G7h8'
const password = 'p@ss/w"rd+case=='
const multi =
  '-----BEGIN THING-----\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo\nMDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n-----END THING-----\n'
const values = [token, password, '12345678', multi, 'ab']

/** All of it in one piece, or cut at the given places. */
function redact(
  text: string | Buffer,
  known: string[] = values,
  cuts: number[] = [],
  extra: RegExp[] = [],
): string {
  const bytes = Buffer.from(text)
  const redactor = makeRedactor({ values: known, extra })
  const edges = [...new Set([0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  const parts = edges.slice(1).map((edge, index) => redactor.push(bytes.subarray(edges[index], edge)))
  return Buffer.concat([...parts, redactor.end()]).toString('latin1')
}
const shown = (text: string, known?: string[]) => Buffer.from(redact(text, known), 'latin1').toString()

const pieces = fc.constantFrom(
  token, token.slice(0, 9), token.slice(9), password, '12345678', multi, ...multi.split('\n'),
  JSON.stringify({ pass: password }), JSON.stringify(JSON.stringify({ a: password, b: `\x1b[31m${token}` })),
  encodeURIComponent(password), Buffer.from(token).toString('base64'), Buffer.from(`x${password}y`).toString('base64url'),
  Buffer.from(token).toString('hex'), '\x1b[32m', '\x1b[0m', '\x1b]0;title\x07', '\x1b', '\\u001b[1m', '\\', '\\\\', '\x1b[',
  'API_TOKEN=', 'password: ', '"secret": "', '"', "'", '\\"', '\n', '\r', ' ', '  ', ':', '=', '://', '@', 'user', 'Bearer ',
  'Authorization: ', 'hunter2hunter2', 'ghp_', 'sk-', 'sk-ant-', 'AKIA', 'eyJ', '.', 'a1B2c3D4e5F6g7H8i9J0', 'IOSFODNN7EXAMPLE',
  '-----BEGIN RSA PRIVATE KEY-----', '-----END RSA PRIVATE KEY-----', 'MIIEpAIBAAKCAQEA7', 'ordinary words stay', '✓ é',
  '--token ', 'x'.repeat(600), 'sha512-',
) // prettier-ignore
const texts = fc.array(pieces, { maxLength: 14 }).map(parts => parts.join(''))

test('the answer is the same however the bytes were cut', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
      expect(redact(text, values, cuts)).toBe(redact(text))
    }),
    { numRuns: 3000 },
  )
})

test('the answer is the same byte by byte', () => {
  fc.assert(
    fc.property(texts, text => {
      const every = Array.from({ length: Buffer.byteLength(text) }, (_, index) => index)
      expect(redact(text, values, every)).toBe(redact(text))
    }),
    { numRuns: 500 },
  )
})

test('a known value never comes through, in any of its forms, anywhere in any text', () => {
  const secret = fc
    .string({ unit: 'grapheme', minLength: 8, maxLength: 40 })
    .filter(value => value.trim().length >= 8 && !/^\d+$/.test(value.trim()))
  const forms: ((value: string) => string)[] = [
    value => value,
    value => JSON.stringify(value),
    value => JSON.stringify(JSON.stringify({ value })),
    value => encodeURIComponent(value),
    value =>
      encodeURIComponent(value)
        .toLowerCase()
        .replace(/[a-z]/g, c => c),
    value => Buffer.from(value).toString('hex'),
    value => `'${value.replaceAll("'", `'\\''`)}'`,
  ]
  fc.assert(
    fc.property(
      secret,
      fc.nat(forms.length - 1),
      texts,
      texts,
      fc.array(fc.nat(), { maxLength: 6 }),
      (value, which, before, after, cuts) => {
        const form = (forms[which] ?? String)(value.trim())
        const core = form.replace(/^[^\w]+|[^\w]+$/g, '')
        fc.pre(core.length >= 8 && which !== 4)
        const out = redact(`${before} ${form} ${after}`, [value], cuts)
        expect(out.includes(Buffer.from(form).toString('latin1'))).toBe(false)
      },
    ),
    { numRuns: 1000 },
  )
})

test('base64 of a text around a known value hides it at each of the three places', () => {
  for (const before of ['', 'a', 'ab', 'abc']) {
    const encoded = Buffer.from(`${before}${token}zz`).toString('base64')
    const out = shown(`b64 ${encoded} end`)
    expect(out).toMatch(/^b64 [\w+/]{0,4}\[redacted\][\w+/=]{0,8} end$/)
  }
})

test('values under six bytes are left alone', () => {
  expect(shown('ab ab ab, an ordinary word stays\n')).toBe('ab ab ab, an ordinary word stays\n')
})

test('a value is found with colour codes inside, and the codes are kept', () => {
  const coloured = `${token.slice(0, 6)}\x1b[32m${token.slice(6)}\x1b[0m`
  expect(shown(`colour ${coloured} end\n`)).toBe('colour [redacted]\x1b[32m\x1b[0m end\n')
  expect(shown(JSON.stringify({ out: coloured }))).toBe('{"out":"[redacted]\\u001b[32m\\u001b[0m"}')
})

test('a value cut off by the end of the stream is hidden as far as it goes', () => {
  expect(shown(`last ${token.slice(0, 12)}`)).toBe('last [redacted]')
})

test('a key file as a known value is found whole, with other line ends, and line by line', () => {
  expect(shown(`x\n${multi}y`)).toBe('x\n[redacted]\ny')
  expect(shown(`x ${JSON.stringify(multi)} y`)).toBe('x "[redacted]\\n" y')
  expect(shown('out | QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo\n')).toBe('out | [redacted]\n')
})

test('a known number leaves JSON behind, and longer numbers alone', () => {
  expect(shown('{"pin":12345678,"n":123456789}\n')).toBe('{"pin":"[redacted]","n":123456789}\n')
})

test('lines of JSON stay JSON whatever is hidden in them', () => {
  const leaf = fc.oneof(pieces, fc.integer(), fc.boolean(), fc.constant(null), fc.constant(12345678))
  const keys = fc.constantFrom('password', 'token', 'api_key', 'text', 'n', 'clientSecret')
  const document = fc.dictionary(
    keys,
    fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(keys, leaf)),
  )
  fc.assert(
    fc.property(document, value => {
      const line = redact(JSON.stringify(value))
      expect(() => JSON.parse(line)).not.toThrow()
    }),
    { numRuns: 2000 },
  )
})

const b = (n: number) => 'a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuV'.repeat(6).slice(0, n)
const hex = (n: number) => '0a1b2c3d4e5f6789'.repeat(8).slice(0, n)
const caps = (n: number) => 'A1B2C3D4E5F6G7H8'.repeat(6).slice(0, n)

test.each([
  ['GitHub', `ghp_${b(36)}`],
  ['GitHub OAuth', `gho_${b(36)}`],
  ['GitHub app', `ghs_${b(36)}`],
  ['GitHub fine-grained', `github_pat_${b(22)}_${b(59)}`],
  ['GitLab', `glpat-${b(20)}`],
  ['OpenAI', `sk-${b(48)}`],
  ['OpenAI project', `sk-proj-${b(60)}`],
  ['Anthropic', `sk-ant-api03-${b(90)}`],
  ['OpenRouter', `sk-or-v1-${hex(64)}`],
  ['Slack bot', `xoxb-123456789012-123456789012-${b(24)}`],
  ['Slack app', `xapp-1-A0123456789-1234567890123-${hex(64)}`],
  ['Slack hook', `hooks.slack.com/services/T01234567/B01234567/${b(24)}`],
  ['AWS key id', `AKIA${caps(16)}`],
  ['AWS temporary key id', `ASIA${caps(16)}`],
  ['Google API', `AIza${b(35)}`],
  ['Google OAuth', `ya29.${b(60)}`],
  ['Google client', `GOCSPX-${b(28)}`],
  ['npm', `npm_${b(36)}`],
  ['PyPI', `pypi-AgEIcHlwaS5vcmc${b(60)}`],
  ['RubyGems', `rubygems_${hex(48)}`],
  ['Docker', `dckr_pat_${b(27)}`],
  ['Hugging Face', `hf_${b(34)}`],
  ['Groq', `gsk_${b(52)}`],
  ['Stripe', `sk_live_${b(24)}`],
  ['Stripe hook', `whsec_${b(32)}`],
  ['SendGrid', `SG.${b(22)}.${b(43)}`],
  ['DigitalOcean', `dop_v1_${hex(64)}`],
  ['Shopify', `shpat_${hex(32)}`],
  ['Linear', `lin_api_${b(40)}`],
  ['Vault', `hvs.${b(90)}`],
  ['Databricks', `dapi${hex(32)}`],
  ['Sentry', `sntrys_${b(60)}`],
  ['Grafana', `glsa_${b(32)}_${hex(8)}`],
  ['Postman', `PMAK-${hex(24)}-${hex(34)}`],
  ['New Relic', `NRAK-${caps(27)}`],
  ['Tailscale', `tskey-auth-${b(12)}-${b(32)}`],
  ['Mailgun', `key-${hex(32)}`],
  ['Figma', `figd_${b(40)}`],
  ['age', `AGE-SECRET-KEY-1${caps(58)}`],
  ['JWT', `eyJ${b(20)}.eyJ${b(40)}.${b(43)}`],
  ['Telegram', `:AA${b(33)}`],
])('a token of the shape of %s is hidden, and nothing around it', (name, secret) => {
  const id = name === 'Telegram' ? '1234567890' : ''
  expect(shown(`before ${id}${secret} after\n`, [])).toBe(`before ${id}[redacted] after\n`)
  expect(shown(`{"a":"${id}${secret}","b":1}\n`, [])).toBe(`{"a":"${id}[redacted]","b":1}\n`)
  expect(shown(`${id}${secret}`, [])).toBe(`${id}[redacted]`)
})

test('a private key is hidden from its first line to its last, in text and in JSON', () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${b(64)}\n${b(64)}\n-----END RSA PRIVATE KEY-----`
  expect(shown(`x\n${key}\ny\n`, [])).toBe('x\n[redacted]\ny\n')
  expect(shown(`${JSON.stringify({ key, n: 1 })}\n`, [])).toBe('{"key":"[redacted]","n":1}\n')
  const open = `-----BEGIN PUBLIC KEY-----\n${b(64)}\n-----END PUBLIC KEY-----\n`
  expect(shown(open, [])).toBe(open)
})

test.each([
  ['API_TOKEN=hunter2hunter2 next', 'API_TOKEN=[redacted] next'],
  ['export DB_PASSWORD="correct-horse" # x', 'export DB_PASSWORD="[redacted]" # x'],
  ["password = 'hunter22'", "password = '[redacted]'"],
  ['password: hunter22', 'password: [redacted]'],
  ['AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'AWS_SECRET_ACCESS_KEY=[redacted]'],
  ['{"client_secret":"abcDEF123456","x":1}', '{"client_secret":"[redacted]","x":1}'],
  ['{"apiKey": "abcDEF123456"}', '{"apiKey": "[redacted]"}'],
  ['{"password":12345678}', '{"password":"[redacted]"}'],
  ['"{\\"token\\":\\"abcDEF123456\\",\\"n\\":2}"', '"{\\"token\\":\\"[redacted]\\",\\"n\\":2}"'],
  ['Authorization: Bearer abcdef1234567890', 'Authorization: Bearer [redacted]'],
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic [redacted]'],
  ['"authorization": "token abcdef123456"', '"authorization": "token [redacted]"'],
  ['curl -H "X-Api-Key: abc123def456" x', 'curl -H "X-Api-Key: [redacted]" x'],
  ['mysql --password s3cr3tpass -u x', 'mysql --password [redacted] -u x'],
  ['tool --token=abc123def456 -v', 'tool --token=[redacted] -v'],
  ['GET /x?access_token=abc123def456&page=2', 'GET /x?access_token=[redacted]&page=2'],
  ['postgres://app:s3cret@db.example/x', 'postgres://app:[redacted]@db.example/x'],
  ['AccountKey=abcdef0123456789abcdef==;Endpoint=x', 'AccountKey=[redacted];Endpoint=x'],
])('%s', (line, expected) => {
  expect(shown(`${line}\n`, [])).toBe(`${expected}\n`)
  expect(shown(line, [])).toBe(expected)
})

test.each([
  'sha512-cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxN3E3cTdxNw==',
  '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
  'commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> main)',
  'Digest: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'id 123e4567-e89b-12d3-a456-426614174000 done in 12.3s',
  'npm warn deprecated inflight@1.0.6: This module is not supported, and leaks memory',
  'max_tokens: 4096, input_tokens: 12345678, "output_tokens":987654',
  '{"usage":{"input_tokens":1234567,"cache_creation_input_tokens":9876543}}',
  'const token = await getToken(user)',
  'token: string; password?: string; secret: Buffer',
  'expected token: IDENTIFIER but found keyword',
  'if (password === other.password) return secret == null',
  'password: z.string().min(8)',
  'PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} API_KEY=<your key>',
  'Password: ',
  'readonly STENCIL_PASS_DEPTH_PASS: 0x0B96; previousToken: previousToken2',
  'Password must have at least 12 characters',
  'login(username=user, password=password, token=self.token)',
  'GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}',
  'task-force-one-two-three-four-five-six-seven-eight-nine',
  'class="sk-circle-fade-dot another-class"',
  'PWD=/home/someone/project OLDPWD=/home/someone',
  '✓ tests/auth/token.test.ts (12 tests) 345ms',
  'http://localhost:5173/@vite/client ws://127.0.0.1:8080/',
  'see https://user.example.org:8443/path?x=1#frag',
  'git@github.com:owner/repository.git',
  'Bearer authentication is required',
  'error TS2304: Cannot find name tokenizer at src/secrets/passwords.ts:12:34',
  'cacheKey=linux-x64-node-modules-0123456789abcdef',
  'Compiled successfully in 1234567 ms: main-4f3e2d1c0b9a8877.js 123.45 kB',
  'xoxo, see you later; ghp_short; AKIA is a prefix; eyJ is too',
  '2024-01-01T00:00:00Z INFO secret manager started, credentials ok',
  'base64 iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
])('ordinary output stays: %s', line => {
  expect(shown(`${line}\n`, [])).toBe(`${line}\n`)
})

test('a prompt is whole on the screen after a short silence', () => {
  const redactor = makeRedactor({ values: ['xyz-secret-value'] })
  const said = Buffer.concat([redactor.push(Buffer.from('Proceed with x')), redactor.flush()]).toString()
  expect(said).toBe('Proceed with x')
  const rest = Buffer.concat([redactor.push(Buffer.from('yz-secret-value\n')), redactor.end()]).toString()
  expect(rest).toBe('[redacted]\n')
})

test('what cannot become a secret is given at once, a line without an end too', () => {
  const redactor = makeRedactor({ values })
  let given = 0
  for (let turn = 0; turn < 1000; turn++) given += redactor.push(Buffer.alloc(4096, 'z')).length
  expect(4096 * 1000 - given).toBeLessThan(64)
})

test('a secret of any length is swallowed without being kept', () => {
  const redactor = makeRedactor({ values: [] })
  let given = redactor.push(Buffer.from(`password="${'a1'.repeat(400)}`)).length
  for (let turn = 0; turn < 1000; turn++) given += redactor.push(Buffer.from('a1'.repeat(2048))).length
  given += redactor.push(Buffer.from('" end\n')).length + redactor.end().length
  expect(given).toBe('password="[redacted]" end\n'.length)
})

test('patterns of the configuration hide within lines', () => {
  const extra = [/INTERNAL-\d+/]
  expect(redact('see INTERNAL-42 and\nINTERNAL-7', [], [3, 9, 12], extra)).toBe(
    'see [redacted] and\n[redacted]',
  )
})

test('text is redacted in one go, and comes back as it was where there is nothing to hide', () => {
  expect(redactText('✓ é token=abcdef123456 \ud83e\uddea')).toBe('✓ é token=[redacted] \ud83e\uddea')
  const odd = 'half \ud83e and whole \ud83e\uddea'
  expect(redactText(odd)).toBe(odd)
  expect(redactText(`x ${token}`, [token])).toBe('x [redacted]')
})
