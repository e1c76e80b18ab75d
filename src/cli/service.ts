// A service of the user that starts the daemon after a reboot: systemd on Linux, launchd on macOS.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { findInstallation } from '../daemon/installation.ts'
import { platform } from '../platform/platform.ts'
import { stateDirOf } from '../store/paths.ts'
import { type Io } from './io.ts'

/** Writes the service's file and says how to switch it on; it switches nothing on by itself. */
export function installService(io: Io, json: boolean): number {
  const home = io.env['HOME']
  const service = home === undefined ? undefined : serviceOf(io, home)
  if (!service)
    throw new BerthError('failed', 'no kind of service is known for this system', 'berth daemon start')
  mkdirSync(dirname(service.file), { recursive: true })
  writeFileSync(service.file, service.text, { mode: 0o644 })
  if (json) io.print.json({ berth: 1, file: service.file, command: service.command })
  else {
    io.print.out(`wrote '${service.file}'`)
    io.print.hint(service.command)
  }
  return 0
}

type Service = { file: string; text: string; command: string }

function serviceOf(io: Io, home: string): Service | undefined {
  const { node, main } = findInstallation()
  const words = [node, main, 'daemon', 'start']
  const state = stateDirOf(io.env, platform)
  if (platform.name === 'windows') return undefined
  if (platform.accountDataDir().includes('/Library/')) {
    const file = join(home, 'Library', 'LaunchAgents', 'dev.berth.daemon.plist')
    return { file, text: plist(words, state), command: `launchctl load -w '${file}'` }
  }
  const folder = io.env['XDG_CONFIG_HOME'] || join(home, '.config')
  const file = join(folder, 'systemd', 'user', 'berth.service')
  return { file, text: unit(words, state), command: 'systemctl --user enable --now berth' }
}

/** Runs outlive the daemon (KillMode=process): their supervisors are not its children's business. */
const unit = (words: string[], state: string): string => `[Unit]
Description=Berth, a fleet of coding agents

[Service]
Type=forking
Environment=${systemdQuoted(`BERTH_STATE_DIR=${state}`)}
ExecStart=${words.map(systemdQuoted).join(' ')}
KillMode=process
Restart=no

[Install]
WantedBy=default.target
`

const systemdQuoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

const plist = (words: string[], state: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>dev.berth.daemon</string>
  <key>ProgramArguments</key><array>${words.map(word => `<string>${xml(word)}</string>`).join('')}</array>
  <key>EnvironmentVariables</key><dict><key>BERTH_STATE_DIR</key><string>${xml(state)}</string></dict>
  <key>RunAtLoad</key><true/>
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
`

const xml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
