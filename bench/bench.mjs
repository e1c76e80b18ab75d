// Prints one row per figure: what, ours, the raw thing in the same run, the ratio, the target.
// `npm run bench` runs all; `npm run bench -- start rm` runs the named ones.
import { endWorlds } from './world.mjs'

delete process.env.NODE_EXTRA_CA_CERTS // it triples the start of Node

const rows = ['cli', 'start', 'rm', 'memory']
const wanted = process.argv.slice(2).filter(arg => !arg.startsWith('-'))
const unknown = wanted.filter(name => !rows.includes(name))
if (unknown.length > 0) {
  console.error(`bench: no row '${unknown[0]}'; there are ${rows.join(', ')}`)
  process.exit(2)
}

const print = row => {
  const verdict = row.met === undefined ? '' : row.met ? 'met' : 'MISSED'
  console.log(
    `| ${row.what} | ${row.ours} | ${row.raw ?? '–'} | ${row.ratio === undefined ? '–' : row.ratio.toFixed(2) + ' ×'} | ${row.target ?? '–'} | ${verdict} |`,
  )
}

console.log(`node ${process.version}, ${process.platform}\n`)
console.log('| what | ours | raw | ratio | target | |\n| --- | --- | --- | --- | --- | --- |')
try {
  for (const name of wanted.length > 0 ? wanted : rows) {
    const { measure } = await import(`./rows/${name}.mjs`)
    await measure(print)
  }
} finally {
  endWorlds()
}
