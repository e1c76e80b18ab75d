import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What drives the whole binary takes longest: begun last it would run on alone, with a worker idle beside it. */
const longest = ['/daemon/', '/e2e/', '/cli/']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex(folder => moduleId.includes(folder))
      return at < 0 ? longest.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

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
    sequence: { sequencer: LongestFirst },
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
