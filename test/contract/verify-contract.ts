import { Verifier } from '@pact-foundation/pact'
import { describeVerification } from '../../scripts/contracts/describe-verification.ts'
import { forwardRequests, type PassedAnswer } from './forward-requests.ts'
import { type ContractFile, type ProviderState, readPact } from './pact-files.ts'
import { demandPublished } from './published-states.ts'

/** A request of a contract on its way to the provider; a filter may change it. */
export interface FilteredRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  readonly headers: Record<string, string>
  body: unknown
}

/** Creates a state with real data. */
export type StateHandler = (parameters: never) => Promise<void>

/** Where the provider is, and how the states of its contract are created. */
export interface VerifiedProvider {
  readonly contract: ContractFile
  readonly url: string | (() => string)
  readonly states: Readonly<Record<string, StateHandler>>
  /** Changes each request just before it is sent. It creates values that would be too old in a file. */
  readonly filter: (request: FilteredRequest) => void | Promise<void>
  /** Gets every answer. */
  readonly hear?: (answer: PassedAnswer) => void
}

/**
 * Sends every request of a contract to the provider.
 * @throws with the consumer and every interaction that has a different answer or whose state could not be created
 */
export async function verifyContract(verified: VerifiedProvider): Promise<void> {
  const { contract, url, states, filter, hear = () => undefined } = verified
  const { consumer, provider, interactions } = await readPact(contract.file)
  const needed = interactions.flatMap(({ providerStates = [] }) => providerStates)
  const who = `the consumer ${consumer.name} (contracts/${contract.name})`
  const unknown = needed.filter(({ name }) => states[name] === undefined)
  if (unknown.length > 0) throw new Error(`Nobody brings about for ${who}: ${namesOf(unknown)}`)
  demandPublished(provider.name, Object.keys(states))
  const entered: string[] = []
  const failed: string[] = []
  const answers: PassedAnswer[] = []
  await using forwarder = await forwardRequests(typeof url === 'string' ? () => url : url, (answer) => {
    answers.push(answer)
    hear(answer)
  })
  const tried = new Verifier({
    provider: provider.name,
    providerBaseUrl: forwarder.url,
    pactUrls: [contract.file],
    logLevel: 'error',
    requestFilter: ((request: FilteredRequest, _response: unknown, next: (error?: unknown) => void) => {
      if (request.path.startsWith('/_pact')) return next()
      Promise.resolve(request)
        .then(filter)
        .then(() => next(), next)
    }) as never,
    stateHandlers: Object.fromEntries<(parameters?: unknown) => Promise<void>>(
      Object.entries(states).map(([name, enter]) => [
        name,
        async (parameters) => {
          entered.push(name)
          await enter(parameters as never).catch((error: unknown) => void failed.push(`${name}: ${String(error)}`))
        },
      ]),
    ),
  }).verifyProvider()
  const descriptions = interactions.map(({ description }) => description)
  // One request for each interaction, in their order.
  const reasonOf = (description: string): string | undefined =>
    answers.length === descriptions.length ? answers[descriptions.indexOf(description)]?.reason : undefined
  const differing = await tried.then(
    () => [],
    (error: unknown) => describeVerification(error, reasonOf),
  )
  const flaws = answers.flatMap(({ path, flaw }) => (flaw === undefined ? [] : [`- ${path}: ${flaw}`]))
  const broken = [...differing, ...flaws]
  const asked = { who, provider: provider.name, needed: needed.length, entered: entered.length }
  const problem = problemOf({ ...asked, failed, broken })
  if (problem !== null) throw new Error(problem)
}

interface Outcome {
  readonly who: string
  readonly provider: string
  readonly failed: readonly string[]
  readonly broken: readonly string[]
  readonly needed: number
  readonly entered: number
}

/** A state that is missing or fails does not make the verification fail. */
function problemOf({ who, provider, failed, broken, needed, entered }: Outcome): string | null {
  const problems = [
    ...(failed.length > 0 ? [`A state that ${who} counts on did not come about:`, ...failed] : []),
    ...(broken.length > 0 ? [`${provider} breaks what it owes to ${who}:`, ...broken] : []),
  ]
  if (problems.length > 0) return problems.join('\n')
  return entered === needed ? null : `Of ${needed} states that ${who} counts on, ${entered} were asked for`
}

function namesOf(states: readonly ProviderState[]): string {
  return [...new Set(states.map(({ name }) => name))].join(', ')
}
