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
