import { defineConfig } from 'tsdown'

const common = {
  format: 'esm' as const,
  platform: 'node' as const,
  target: 'node20.12',
  outDir: 'dist',
  dts: false,
  clean: false,
  minify: false,
  // Native code stays outside; all else is bundled, so that an install fetches next to nothing.
  external: ['@photostructure/sqlite', 'koffi', '@lydell/node-pty', 'node:sqlite'],
  noExternal: [/.*/],
}

export default defineConfig([
  { ...common, entry: { main: 'src/cli/main.ts' } },
  // One file without lazy imports: it is copied into the state directory and outlives an upgrade.
  { ...common, entry: { supervisor: 'src/process/supervisor.ts' } },
])
