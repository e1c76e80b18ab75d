import { defineConfig } from 'tsdown'

const common = {
  format: 'esm' as const,
  platform: 'node' as const,
  target: 'node20.12',
  outDir: 'dist.new',
  dts: false,
  clean: false,
  minify: false,
  // Native code stays outside; all else is bundled, so that an install fetches next to nothing.
  deps: { neverBundle: ['@photostructure/sqlite', 'koffi', '@lydell/node-pty', 'node:sqlite'], alwaysBundle: [/.*/], onlyAllowBundle: false as const },
}

export default defineConfig([
  { ...common, entry: { main: 'src/cli/main.ts' } },
  // One file without lazy imports: it is copied into the state directory and outlives an upgrade.
  { ...common, entry: { supervisor: 'src/process/supervisor.ts' } },
])
