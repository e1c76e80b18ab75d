// What of the person's own tools every environment of a task gets: asked once per person and repository.

import { findToolHomes, readPersonGit } from '../../workspace/home.ts'
import { type Site } from '../../workspace/site.ts'

export type Tools = { git: { key: string; value: string }[]; toolHomes: { [name: string]: string } }

const keepMs = 60_000
const asked = new Map<string, { at: number; tools: Promise<Tools> }>()

/** Git settings and tool homes of the person who called (docs/decisions/0012); kept for a minute. */
export function findTools(site: Site, windows: boolean): Promise<Tools> {
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = site.caller
  const key = JSON.stringify([site.repo.commonDir, HOME, USERPROFILE, XDG_CONFIG_HOME])
  const before = asked.get(key)
  if (before && site.now() - before.at < keepMs) return before.tools
  const tools = ask(site, windows)
  asked.set(key, { at: site.now(), tools })
  tools.catch(() => asked.delete(key))
  return tools
}

async function ask(site: Site, windows: boolean): Promise<Tools> {
  const [git, toolHomes] = await Promise.all([
    readPersonGit(site.repo, site.caller),
    findToolHomes(site.caller, windows),
  ])
  return { git: git.passed, toolHomes }
}
