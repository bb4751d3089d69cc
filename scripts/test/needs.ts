import { matchesGlob } from 'node:path'
import { missingTool, type ToolName } from '../tools/find-tool.ts'

/** What test files need beyond Node.js, npm, git and MongoDB. */
interface Need {
  readonly files: string
  readonly tools: readonly ToolName[]
  /** Only some of their tests need a tool, and skip themselves without it. */
  readonly partly?: true
}

export const NEEDS: readonly Need[] = [
  { files: 'test/console/!(built-files).console.test.ts', tools: ['chromium'] },
  { files: 'test/container/*.test.ts', tools: ['docker'] },
  { files: 'test/container/compose.test.ts', tools: ['compose'] },
  { files: 'test/model/trace.test.ts', tools: ['tlc'] },
  { files: 'test/model/model.test.ts', tools: ['tlc'], partly: true },
  { files: 'test/contract/python-consumer.provider.test.ts', tools: ['pact-python'] },
  { files: 'test/contract/{handler-functions,running-handler}.provider.test.ts', tools: ['postgresql'], partly: true },
  { files: 'test/fault/clocks.fault.test.ts', tools: ['faketime'] },
  { files: 'test/fault/{overload,partition,soak}.fault.test.ts', tools: ['proc'] },
  { files: 'test/fault/scarcity.fault.test.ts', tools: ['prlimit'] },
  { files: 'test/fault/handler-{behind-gateways,kill}.fault.test.ts', tools: ['postgresql'], partly: true },
  { files: 'test/kubernetes.test.ts', tools: ['kubernetes-validate'], partly: true },
  { files: 'test/system/examples.system.test.ts', tools: ['fastapi', 'go', 'postgresql'], partly: true },
  { files: 'test/system/examples.system.test.ts', tools: ['proc'] },
  { files: 'test/document-commands.test.ts', tools: ['curl'], partly: true },
  { files: 'test/system/first-handler.system.test.ts', tools: ['curl'] },
  { files: 'test/system/packed-*.system.test.ts', tools: ['node20', 'node22'], partly: true },
  { files: 'test/system/packed-handler.system.test.ts', tools: ['postgresql'], partly: true },
  { files: 'packages/handler/src/postgres/*.test.ts', tools: ['postgresql'] },
  {
    files: 'packages/handler/src/{*,http/*,init/run-init,outbox/*,trpc/*}.mongo.test.ts',
    ...{ tools: ['postgresql'], partly: true },
  },
]

/** What takes minutes. Whole runs leave it out, but in CI. */
export const LONG = [
  { files: 'test/*/*.fault.test.ts', reason: 'faults take minutes: npm run test:fault' },
  { files: 'test/container/*.test.ts', reason: 'containers take minutes: npm test -- --project container' },
  { files: 'test/model/*.test.ts', reason: 'the model takes minutes: npm run model' },
] as const

/** The files of a run, and those that are skipped, by the reason. */
export interface ChosenFiles {
  readonly run: readonly string[]
  readonly skipped: ReadonlyMap<string, readonly string[]>
}

/** The tools that these files need. */
export function toolsOf(files: readonly string[]): ToolName[] {
  const needs = NEEDS.filter((need) => files.some((file) => matchesGlob(file, need.files)))
  return [...new Set(needs.flatMap(({ tools }) => tools))]
}

/** Leaves long files out. */
export function withoutLong(files: readonly string[]): ChosenFiles {
  return choose(files, (file) => LONG.find((long) => matchesGlob(file, long.files))?.reason)
}

/** Leaves files out that can do nothing, because a tool does not answer. */
export function withTools(files: readonly string[], tools: ReadonlyMap<ToolName, string | null>): ChosenFiles {
  const missing = NEEDS.filter(({ partly }) => !partly).flatMap((need) =>
    need.tools.filter((name) => tools.get(name) === null).map((name) => ({ files: need.files, name })),
  )
  return choose(files, (file) => {
    const first = missing.find((one) => matchesGlob(file, one.files))
    return first && missingTool(first.name)
  })
}

function choose(files: readonly string[], whySkipped: (file: string) => string | undefined): ChosenFiles {
  const { run = [], ...skipped } = Object.groupBy(files, (file) => whySkipped(file) ?? 'run')
  return { run, skipped: new Map(Object.entries(skipped).map(([reason, some = []]) => [reason, some])) }
}
