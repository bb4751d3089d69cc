import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { copySources, type SourceCopy } from './mutated-copy.ts'
import type { Mutation } from './mutations.ts'

/** What the contract tests said of a mutation; `missed` are the consumers whom no failure tells what is broken. */
export interface Attempt {
  readonly mutation: Mutation
  readonly missed: readonly string[]
  readonly failures: readonly string[]
  readonly ms: number
}

/** Breaks a copy of the sources and runs the contract test that must notice it. */
function tryMutation(copy: SourceCopy, mutation: Mutation, env: NodeJS.ProcessEnv): Promise<Attempt> {
  return copy.withMutation(mutation, async () => {
    const startedAt = performance.now()
    const { test, only, consumers, tells } = mutation
    const failures = await runTests(copy.folder, only === undefined ? [test] : [test, '-t', only], env)
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

const ENOUGH_MS = 180_000

const CONTRACT_TESTS = ['gateway-fulfilment', 'webhook-gateway', 'releases'].map((name) => `test/contract/${name}`)

/** What is to be tried, where, and how many at once. */
export interface Trial {
  readonly repository: string
  readonly mutations: readonly Mutation[]
  readonly parallel: number
  readonly env: NodeJS.ProcessEnv
  /** Is told of each attempt as it ends. */
  readonly tell: (attempt: Attempt) => void
}

/**
 * Tries mutations on copies of the sources.
 * @throws when the contract tests fail without any
 */
export async function tryMutations({ repository, mutations, parallel, env, tell }: Trial): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  const queue = mutations.values()
  const work = async (first: boolean): Promise<void> => {
    await using copy = await copySources(repository)
    if (first) await demandSound(copy, env)
    for (const mutation of queue) {
      const attempt = await tryMutation(copy, mutation, env)
      attempts.push(attempt)
      tell(attempt)
    }
  }
  await Promise.all(Array.from({ length: parallel }, (_, index) => work(index === 0)))
  return attempts
}

async function demandSound({ folder }: SourceCopy, env: NodeJS.ProcessEnv): Promise<void> {
  const failures = await runTests(folder, CONTRACT_TESTS, env)
  if (failures.length > 0) throw new Error(`The contract tests fail without any mutation:\n${failures.join('\n')}`)
}

/**
 * Runs tests in a folder and returns the messages of those that failed.
 * @throws when no test ran
 */
async function runTests(folder: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const report = join(folder, 'report.json')
  await rm(report, { force: true })
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
  const options = ['run', ...args, '--reporter=json', `--outputFile=${report}`]
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !/^VITEST|^UPDATE_CONTRACTS$/.test(name)))
  const child = spawn(process.execPath, [vitest, ...options], {
    cwd: folder,
    env: own,
    stdio: 'ignore',
    timeout: ENOUGH_MS,
  })
  await once(child, 'exit')
  const { numTotalTests, testResults } = JSON.parse(await readFile(report, 'utf8')) as TestReport
  if (numTotalTests === 0) throw new Error(`No test ran: ${args.join(' ')}`)
  return testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages),
  ])
}
