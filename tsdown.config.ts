import { defineConfig } from 'tsdown'

const common = {
  // The source is ESM; what runs is CommonJS, which Node starts without its module loader: 20 ms less a call.
  format: 'cjs' as const,
  shims: true,
  platform: 'node' as const,
  target: 'node20.12',
  outDir: 'dist.new',
  dts: false,
  clean: false,
  minify: false,
  // Native code stays outside; all else is bundled, so that an install fetches next to nothing.
  deps: {
    neverBundle: ['@photostructure/sqlite', 'koffi', '@lydell/node-pty', 'node:sqlite'],
    alwaysBundle: [/.*/],
    onlyAllowBundle: false as const,
  },
}

// What every call of `berth` loads is one file: each file more costs a call a millisecond or two.
const everyCall =
  /src.cli.(start|program|usage|flags|io|print|columns|words|commands.ls)\.ts|src.daemon.client\.ts|src.store.paths\.ts/

export default defineConfig([
  {
    ...common,
    entry: { main: 'src/cli/main.ts' },
    outputOptions: {
      codeSplitting: {
        groups: [
          { name: 'version', test: /src.core.version\.ts/, priority: 2 },
          { name: 'client', test: everyCall, priority: 1 },
        ],
      },
    },
  },
  // One file without lazy imports: it is copied into the state directory and outlives an upgrade.
  { ...common, entry: { supervisor: 'src/process/supervisor.ts' } },
])
