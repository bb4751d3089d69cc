import { AssertionError } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { PactV3, SpecificationVersion, type V3Interaction } from '@pact-foundation/pact'
import { afterAll, expect, type RunnerTestSuite } from 'vitest'
import { CONTRACTS, commitPact, readPact } from './pact-files.ts'

type Body = V3Interaction['withRequest']['body']

/** A condition that the provider has to create, with its parameters. */
export interface NeededState {
  readonly description: string
  readonly parameters?: NonNullable<V3Interaction['states']>[number]['parameters']
}

/** One request of a consumer, and the answer that it relies on. */
export interface Exchange {
  readonly does: string
  readonly states: readonly NeededState[]
  readonly request: {
    readonly method: string
    readonly path: string
    readonly query?: V3Interaction['withRequest']['query']
    readonly headers: V3Interaction['withRequest']['headers']
    readonly body?: Body
  }
  readonly answer: {
    readonly status: V3Interaction['willRespondWith']['status']
    readonly headers?: V3Interaction['willRespondWith']['headers']
    readonly body?: Body
  }
}

/** The contract of one consumer with one provider while its consumer tests write it. */
export interface ConsumerContract extends AsyncDisposable {
  /**
   * Serves the answer of an exchange at a separate URL while the consumer's real code calls it.
   * @throws with the consumer's name, if its request differs from the exchange or if it cannot handle the answer
   */
  expectExchange(exchange: Exchange, ask: (url: string) => Promise<void>): Promise<void>
  /** Compares the consumer's calls with the committed contract, or updates the contract on request. */
  compareWithCommitted(env: NodeJS.ProcessEnv): Promise<void>
}

/**
 * Opens the contract of a consumer with a provider. If several files write it, each opens its part: the requests to the
 * paths for which `isOfPart` returns true. Each path must belong to one part.
 */
export function openConsumerContract(
  consumer: string,
  provider: string,
  isOfPart: (path: string) => boolean = () => true,
): Promise<ConsumerContract> {
  return openContract({ consumer, provider, isOfPart, spec: SpecificationVersion.SPECIFICATION_VERSION_V3 })
}

/**
 * Compares a contract with the committed one after the tests of this place, each of which writes its part in any order, and
 * closes it. A run of some of them compares nothing, and neither does one of which a test has failed and says why.
 */
export function compareAtTheEnd(contract: Compared | Promise<Compared>): void {
  // biome-ignore lint/correctness/noEmptyPattern: vitest demands an object pattern here.
  afterAll(async ({}, suite) => {
    await using written = await contract
    if (hasPassed(suite)) await written.compareWithCommitted(process.env)
  })
}

type Compared = Pick<ConsumerContract, 'compareWithCommitted'> & AsyncDisposable

function hasPassed({ tasks }: Pick<RunnerTestSuite, 'tasks'>): boolean {
  return tasks.every((task) => (task.type === 'suite' ? hasPassed(task) : task.result?.state === 'pass'))
}

/** Opens a contract in which an answer can have any status of a class. It is a Pact of version 4. */
export function openContractOfClasses(consumer: string, provider: string): Promise<ConsumerContract> {
  const spec = SpecificationVersion.SPECIFICATION_VERSION_V4
  return openContract({ consumer, provider, isOfPart: () => true, spec })
}

interface Contract {
  readonly consumer: string
  readonly provider: string
  readonly isOfPart: (path: string) => boolean
  readonly spec: SpecificationVersion
}

async function openContract({ consumer, provider, isOfPart, spec }: Contract): Promise<ConsumerContract> {
  const folder = await mkdtemp(join(tmpdir(), 'pacts-'))
  const name = `${consumer}-${provider}.json`
  return {
    async expectExchange({ does, states, request, answer }, ask) {
      const pact = new PactV3({ consumer, provider, dir: folder, logLevel: 'error', spec })
      pact.addInteraction({
        states: states.map(({ description, parameters }) => ({ description, ...(parameters && { parameters }) })),
        uponReceiving: does,
        withRequest: request as V3Interaction['withRequest'],
        willRespondWith: answer as V3Interaction['willRespondWith'],
      })
      const problems: string[] = []
      await pact
        .executeTest(({ url }) => ask(url).catch((error: unknown) => void problems.push(sentenceOf(error))))
        .catch((error: unknown) => problems.unshift(sentenceOf(error)))
      if (problems.length === 0) return
      throw new Error(`The consumer ${consumer} and the contract ${name} differ: ${does}\n${problems.join('\n')}`)
    },
    async compareWithCommitted(env) {
      if (env.UPDATE_CONTRACTS === '1') await commitPact(join(folder, name), join(CONTRACTS, name), isOfPart)
      const committed = await readPact(join(CONTRACTS, name))
      const part = committed.interactions.filter(({ request }) => isOfPart(request.path))
      const asked = (await readPact(join(folder, name))).interactions
      const isOther = (one: object, others: readonly object[]) => !others.some((other) => isDeepStrictEqual(other, one))
      const differing = [...part.filter((one) => isOther(one, asked)), ...asked.filter((one) => isOther(one, part))]
      const names = [...new Set(differing.map(({ description }) => `- ${description}`))]
      const hint = `The consumer ${consumer} asks for other things (contracts/${name}): UPDATE_CONTRACTS=1 npm test -- test/contract takes them over`
      expect(asked, [hint, ...names].join('\n')).toEqual(part)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The message of vitest does not contain the differences. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (!('expected' in error)) return error.message
  return new AssertionError({ ...error, message: error.message, operator: 'deepStrictEqual' }).message
}
