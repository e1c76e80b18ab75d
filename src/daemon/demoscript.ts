// What the demo's agents do, its gate, and its task file: the texts that are written into the throw-away world.

/** The gate: every module of the shop can be loaded, and none is empty. */
export const checkScript = `import { readdirSync, readFileSync } from 'node:fs'
for (const name of readdirSync('.').filter(name => name.endsWith('.mjs') && name !== 'check.mjs')) {
  if (readFileSync(name, 'utf8').trim() === '') throw new Error(name + ' is empty')
  await import('./' + name)
}
`

export const gateLine = 'node check.mjs'

export const agentScript = `// Plays the agent of the task that it is started for.
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const say = text => process.stdout.write(text + '\\n')
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' })
function commit(file, text, message) {
  writeFileSync(file, text)
  git('add', file)
  git('commit', '-qm', message)
}

const agents = {
  greeting() {
    say('I add a greeting and use it in the title.')
    commit('greet.mjs', "export const greet = name => 'hello, ' + name\\n", 'a greeting')
    commit('shop.mjs', "export const title = 'the friendly shop'\\n", 'a friendlier title')
  },
  async readme() {
    say('I write the readme.')
    await pause(300)
    writeFileSync('README.md', '# Shop\\n\\nSells things.\\n')
  },
  shout() {
    say('The greeting is there, so I can shout it.')
    const shout = 'export const shout = name => greet(name).toUpperCase()'
    commit('shout.mjs', "import { greet } from './greet.mjs'\\n" + shout + '\\n', 'shouting')
  },
  async rename() {
    say('I rename the shop, and take my time.')
    for (let i = 0; i < 300 && !git('log', '--format=%s', 'main').includes('friendlier'); i++) await pause(50)
    commit('shop.mjs', "export const title = 'The Shop'\\n", 'another title')
  },
  async flaky() {
    say('I count the stock.')
    await pause(200)
    if (process.env.BERTH_ATTEMPT === '1') {
      process.stderr.write('out of luck: the first attempt crashes\\n')
      process.exit(134)
    }
    commit('stock.mjs', 'export const stock = 3\\n', 'the stock is counted')
  },
  async litter() {
    say('I start three servers and forget them.')
    const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)"
    for (let i = 0; i < 3; i++) {
      const child = spawn(process.execPath, ['-e', deaf], { detached: true, stdio: 'ignore' })
      child.unref()
      appendFileSync(join(here, 'orphans'), child.pid + '\\n')
    }
    await pause(200)
    commit('prices.mjs', 'export const prices = {}\\n', 'prices')
  },
  licence() {
    say('I do not know which licence you want, so I ask.')
    const ask = ['ask', 'Which licence shall the shop have?', '--choice', 'MIT', '--choice', 'Apache-2.0']
    const windows = sep !== '/'
    const words = windows ? ask.map(word => JSON.stringify(word)) : ask
    const answer = execFileSync('berth', words, { encoding: 'utf8', shell: windows })
    commit('LICENSE', answer, 'a licence')
  },
  async leak() {
    const secret = readFileSync(join(here, 'secret'), 'utf8')
    process.stdout.write('I call the service with token ' + secret.slice(0, 12))
    await pause(100)
    say(secret.slice(12) + ' and it answers')
    commit('client.mjs', "export const service = 'https://service.invalid'\\n", 'a client')
  },
}

await agents[process.env.BERTH_TASK]()
`

export const taskFile = `---
land: auto
---

## greeting: Add a greeting
Add a greeting, and make the title friendlier.

## readme: Write a readme
Write a short readme.

## shout: Shout the greeting
after: greeting

Add a function that shouts the greeting.

## rename: Rename the shop
Give the shop another title. (Someone else is at the same line.)

## flaky: Count the stock
Count the stock. (The first attempt crashes.)

## litter: Add prices
Add prices. (The agent leaves three deaf processes behind.)

## licence: Choose a licence
Add a licence. (The agent asks which one.)

## leak: Call the service
Add a client for the service. (The agent prints a secret.)
`
