import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const project = (name: string, include: string[], extra: object = {}) => ({
  test: {
    name,
    include,
    exclude: ['node_modules/**'],
    pool: 'forks' as const,
    // A test mostly waits for its processes: one worker a core, where the default leaves one out.
    maxWorkers: Math.max(2, availableParallelism()),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    ...extra,
  },
})

export default defineConfig({
  test: {
    projects: [
      project('unit', ['test/**/*.test.ts'], {
        exclude: ['node_modules/**', 'test/cases/**', 'test/engines-real/**', 'test/soak/**'],
      }),
      project('cases', ['test/cases/**/*.test.ts'], { testTimeout: 120_000 }),
      project('engines', ['test/engines-real/**/*.test.ts'], {
        testTimeout: 300_000,
        hookTimeout: 600_000,
        maxWorkers: 2,
      }),
      project('soak', ['test/soak/**/*.test.ts'], { testTimeout: 3_600_000 }),
    ],
  },
})
