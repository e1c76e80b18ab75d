// What secrets look like that nobody told us: tokens with a telling beginning. A table, to be read by anyone.

/** Bytes that may stand in a token's body, as a table of 256. */
export type ByteClass = Uint8Array

export type Shape = {
  lead: string
  body: ByteClass
  /** Bytes of the body: fewer is no token. */
  least: number
  /** More is no token either: it was something longer, a checksum for instance. */
  most?: number
  /** Looked at when the body is whole (or longer than 512 bytes). */
  test?: RegExp
  /** What must stand before it (a bot id), where that is not simply no letter and no digit. */
  after?: RegExp
}

const all = (characters: string): ByteClass => {
  const table = new Uint8Array(256)
  const ranges = /(.)-(.)|(.)/g
  for (const [, from, to, one] of characters.matchAll(ranges)) {
    const first = (from ?? one ?? '').charCodeAt(0)
    const last = (to ?? one ?? '').charCodeAt(0)
    for (let code = first; code <= last; code++) table[code] = 1
  }
  return table
}

const word = all('A-Za-z0-9')
const slug = all('A-Za-z0-9_-')
const line = all('A-Za-z0-9-')
const under = all('A-Za-z0-9_')
const dotted = all('A-Za-z0-9_.-')
const upper = all('A-Z0-9')
const hex = all('a-f0-9')
const digits64 = all('A-Za-z0-9+/=_-')
/** What may come right after a key: a quote, a blank, a separator, the bracket of `env["TOKEN"]`. */
export const afterKey = all('\\"\'`] \t=:')
export const bearerBody = all('A-Za-z0-9._~+/=-')
const path = all('A-Za-z0-9/_-')

const shape = (lead: string, body: ByteClass, least: number, rest: Partial<Shape> = {}): Shape => ({
  lead,
  body,
  least,
  ...rest,
})
const each = (leads: string, body: ByteClass, least: number, rest: Partial<Shape> = {}) =>
  leads.split(' ').map(lead => shape(lead, body, least, rest))

export const shapes: readonly Shape[] = [
  // code hosts and package registries
  ...each('ghp_ gho_ ghu_ ghs_ ghr_', word, 30),
  shape('github_pat_', under, 22),
  ...each('glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas- glagent-', dotted, 20),
  ...each('npm_', word, 36),
  ...each('pypi-AgE', slug, 30),
  shape('rubygems_', hex, 48),
  ...each('dckr_pat_ dckr_oat_', slug, 20),
  shape('ATBB', word, 24, { test: /\d/ }),
  ...each('ATATT3 ATCTT3', digits64, 50),
  shape('cio', word, 32, { most: 32, test: /\d.*[A-Z]|[A-Z].*\d/ }),
  // models and their hosts
  ...each('sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf- pk-lf-', slug, 16),
  shape('sk-', word, 20, { test: /\d/ }),
  ...each('gsk_ xai- pplx- fw_ nvapi- csk- esecret_', slug, 24, { test: /\d/ }),
  shape('hf_', word, 30),
  shape('r8_', word, 30),
  shape('AIza', slug, 35, { most: 39 }),
  shape('ya29.', dotted, 20),
  shape('1//0', slug, 30, { test: /[A-Z]/ }),
  shape('GOCSPX-', slug, 20),
  // clouds
  ...each('AKIA ASIA ABIA ACCA A3T', upper, 13, { most: 17 }),
  ...each('dop_v1_ doo_v1_ dor_v1_', hex, 60),
  shape('dapi', hex, 32, { most: 34 }),
  ...each('hvs. hvb. hvr.', slug, 20),
  shape('AGE-SECRET-KEY-1', upper, 50),
  ...each('tskey-auth- tskey-api- tskey-client- tskey-', line, 16, { test: /\d/ }),
  shape('sbp_', hex, 40),
  ...each('pscale_tkn_ pscale_pw_ pscale_oauth_', digits64, 30),
  ...each('fo1_ fm1r_ fm2_ FlyV1', digits64, 30),
  shape('pul-', hex, 40),
  ...each('heroku_ HRKU-', slug, 32, { test: /\d/ }),
  shape('v1.0-', hex, 100),
  // money, mail, chat
  ...each('sk_live_ sk_test_ rk_live_ rk_test_', word, 16),
  shape('whsec_', digits64, 24),
  ...each('sq0atp- sq0csp- EAAAE', slug, 22, { test: /\d/ }),
  ...each('shpat_ shpca_ shppa_ shpss_', all('a-fA-F0-9'), 32),
  ...each('xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xoxo- xoxc- xoxd-', dotted, 10, { test: /\d/ }),
  shape('xapp-', line, 20, { test: /\d/ }),
  shape('hooks.slack.com/services/', path, 20, { after: /^/ }),
  shape('discord.com/api/webhooks/', path, 30, { after: /^/ }),
  shape('discordapp.com/api/webhooks/', path, 30, { after: /^/ }),
  shape(':AA', slug, 32, { most: 40, after: /\d/ }),
  shape('SG.', dotted, 60, { test: /^[\w-]{20,}\.[\w-]{40,}$/ }),
  shape('key-', hex, 32, { most: 32 }),
  ...each('re_', under, 24, { test: /\d.*[A-Z]|[A-Z].*\d/ }),
  // tools
  ...each('lin_api_ lin_oauth_', word, 30),
  ...each('ntn_ secret_', word, 40, { test: /\d/ }),
  ...each('figd_ figo_', slug, 36),
  shape('PMAK-', line, 50),
  shape('NRAK-', upper, 25),
  ...each('glsa_ glc_', digits64, 32, { test: /\d/ }),
  ...each('sntrys_ sntryu_ sntrya_', digits64, 40),
  ...each('phc_ phx_', word, 40),
  shape('doppler_', dotted, 30),
  ...each('dp.pt. dp.st. dp.ct. dp.sa. dp.scim.', dotted, 36),
  ...each('op_', digits64, 60, { test: /\d/ }),
  ...each('ops_eyJ', digits64, 60),
  // signed claims: three parts with dots between
  shape('eyJ', dotted, 20, { test: /^[\w-]{8,}\.[\w-]{8,}/ }),
]

/** Bodies longer than this are judged by their beginning. */
export const judgedBytes = 512

export const isWordByte = (byte: number): boolean => word[byte] === 1 || byte === 95
