// Lets the build and test tools run on the oldest Node that Berth supports: they call two functions
// that came with 20.16 and 20.19. Loaded with `--import`; nothing of it is in the product.
import { createRequire, syncBuiltinESMExports } from 'node:module'
import util from 'node:util'

const require = createRequire(import.meta.url)
process.getBuiltinModule ??= name => require(name)

const one = util.styleText
util.styleText = (format, text, ...rest) =>
  [format].flat().reduce((styled, style) => one(style, styled, ...rest), text)
syncBuiltinESMExports()

// The builder says at every start which Node its next version will need; the version that is used is pinned.
const { warn } = console
console.warn = (first, ...rest) =>
  /^[^ ]*\[tsdown\] Node\.js v[\d.]+ is deprecated/.test(String(first)) || warn(first, ...rest)
