import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { copySources, type SourceCopy } from './mutated-copy.ts'
import type { Mutation, SourceChange } from './mutation.ts'

/** The result of the contract tests for a mutation. `missed`: the consumers that no failure names. */
export interface Attempt {
  readonly mutation: Mutation
  readonly missed: readonly string[]
  readonly failures: readonly string[]
  readonly ms: number
}

/** What the tests run with. They end when `signal` is aborted. */
interface Run {
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

/** Breaks a copy of the sources and runs the contract test that must notice it. */
function tryMutation(copy: SourceCopy, mutation: Mutation, run: Run): Promise<Attempt> {
  return copy.withChanges([mutation], async () => {
    const startedAt = performance.now()
    const { test, only, consumers, tells } = mutation
    const failures = await runTests(copy.folder, only === undefined ? [test] : [test, '-t', only], run)
    const missed = consumers.filter(
      (name) => !failures.some((failure) => namesConsumer(failure, name) && failure.includes(tells)),
    )
    return { mutation, missed, failures, ms: performance.now() - startedAt }
  })
}

function namesConsumer(failure: string, name: string): boolean {
  return failure.toLowerCase().includes(`the consumer ${name} `)
}

interface TestReport {
  readonly numTotalTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly failureMessages: readonly string[] }[]
  }[]
}

const ENOUGH_MS = 900_000

/** Ends vitest's workers together with vitest. Otherwise they would survive when a signal ends vitest. */
const LEAVE_WITH_PARENT = `--import=data:text/javascript,process.once('disconnect',()=>process.kill(process.pid))`

/** Which mutations to try, in which repository, and how many at the same time. */
export interface Trial {
  readonly repository: string
  readonly mutations: readonly Mutation[]
  /** Changes that break nobody. The contract tests must pass with all of them together. Null: that is not tried. */
  readonly harmless: readonly SourceChange[] | null
  readonly parallel: number
  readonly env: NodeJS.ProcessEnv
  /** Called with each attempt when it ends. */
  readonly tell: (attempt: Attempt) => void
}

/**
 * Tries mutations on copies of the sources. When the returned promise settles, all processes have ended and the copies
 * are removed.
 * @throws if the contract tests fail without a mutation, or with the harmless changes
 */
export async function tryMutations({
  repository,
  mutations,
  harmless,
  parallel,
  env,
  tell,
}: Trial): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  const queue = mutations.values()
  const failed = new AbortController()
  const run = { env, signal: failed.signal }
  const work = async (first: boolean): Promise<void> => {
    await using copy = await copySources(repository)
    if (first && harmless !== null) await demandSound(copy, harmless, run)
    for (const mutation of queue) {
      const attempt = await tryMutation(copy, mutation, run)
      attempts.push(attempt)
      tell(attempt)
    }
  }
  const abort = (reason: unknown): void => failed.abort(reason)
  const workers = Array.from({ length: parallel }, (_, index) => work(index === 0))
  for (const worker of workers) worker.catch(abort)
  await Promise.allSettled(workers)
  failed.signal.throwIfAborted()
  return attempts
}

/** Tries the harmless changes. Only if a test fails does it try again without them, to find out whose fault it is. */
async function demandSound(copy: SourceCopy, harmless: readonly SourceChange[], run: Run): Promise<void> {
  const tests = ['test/contract']
  const failures = await copy.withChanges(harmless, () => runTests(copy.folder, tests, run))
  if (failures.length === 0) return
  const unsound = harmless.length === 0 ? failures : await runTests(copy.folder, tests, run)
  if (unsound.length > 0) throw new Error(`The contract tests fail without any mutation:\n${unsound.join('\n')}`)
  throw new Error(`The contract tests fail though the changes are harmless:\n${failures.join('\n')}`)
}

/**
 * Runs tests in a folder and returns the messages of those that failed.
 * @throws if no test ran, if the run was aborted, or if it took too long
 */
async function runTests(folder: string, args: readonly string[], { env, signal }: Run): Promise<string[]> {
  signal.throwIfAborted()
  const report = join(folder, 'report.json')
  await rm(report, { force: true })
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
  const options = ['run', ...args, '--reporter=json', `--outputFile=${report}`]
  const own = Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^VITEST|^UPDATE_CONTRACTS$|^VERIFICATION_RESULTS$/.test(name)),
  )
  const child = spawn(process.execPath, [vitest, ...options], {
    cwd: folder,
    env: { ...own, NODE_OPTIONS: `${own.NODE_OPTIONS ?? ''} ${LEAVE_WITH_PARENT}`.trim() },
    stdio: 'ignore',
    timeout: ENOUGH_MS,
  })
  const end = (): void => void child.kill()
  signal.addEventListener('abort', end)
  const [, endedBy] = await once(child, 'exit').finally(() => signal.removeEventListener('abort', end))
  signal.throwIfAborted()
  if (endedBy !== null) throw new Error(`The tests were ended by ${endedBy}. They have ${ENOUGH_MS / 1_000} s.`)
  const { numTotalTests, testResults } = JSON.parse(await readFile(report, 'utf8')) as TestReport
  if (numTotalTests === 0) throw new Error(`No test ran: ${args.join(' ')}`)
  return testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages),
  ])
}
