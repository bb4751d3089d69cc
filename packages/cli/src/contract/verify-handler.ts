import { SigningError } from '@oncehook/webhooks/signing/signer'
import { CommandFailure } from '../exit-code.ts'
import { judgeAnswer, PLAIN_CALLS, type PlainCall } from './judge-answer.ts'
import { describeStatus, type GivenAnswer, matchAnswer } from './match-answer.ts'
import { type Interaction, type PublishedState, readCatalogue, readHandlerContract } from './published-contracts.ts'
import { type CallTarget, sendInteraction } from './send-interaction.ts'

/** Which handler is checked, and how. */
export interface HandlerCheck extends CallTarget {
  /** Where a POST makes the handler create a state. Null: interactions with such states are left out. */
  readonly statesUrl: string | null
}

/** What became of one interaction. */
export interface CheckedInteraction {
  readonly sent: string
  readonly expected: string
  /** The status; null if there was no answer or nothing was sent. */
  readonly got: number | null
  readonly result: 'ok' | 'failed' | 'left out'
  /** Why it failed or was left out. */
  readonly problems: readonly string[]
  /** How a handler keeps this part of the contract. Null: there is no advice. */
  readonly advice: string | null
}

/**
 * Sends every call of the contract to a handler, one after the other.
 * @throws CommandFailure if the handler gives no answer to the first call
 */
export async function verifyHandler(check: HandlerCheck): Promise<readonly CheckedInteraction[]> {
  const states = new Map(
    readCatalogue()
      .filter(({ provider }) => provider === `${check.by}-handler`)
      .map((state) => [state.name, state]),
  )
  const checked: CheckedInteraction[] = []
  let plain: PlainCall | null = null
  // The plain call comes first. Without its answer, the others would only repeat the problem.
  for (const interaction of readHandlerContract(check.by).toSorted(plainFirst)) {
    const { description: sent, providerStates, response } = interaction
    const usual = providerStates.map(({ name }) => states.get(name)?.advice).find((text) => text !== undefined) ?? null
    const answer = await sendInStates(check, interaction, states)
    const expected = describeStatus(response)
    if ('status' in answer) {
      const isDone = matchAnswer(response, answer).length === 0
      plain ??= { by: check.by, isMadeUp: check.handler.body === null, answer, isDone }
      const { advice, ...judgement } = judgeAnswer(interaction, answer, plain)
      checked.push({
        sent,
        expected,
        got: answer.status,
        ...judgement,
        advice: judgement.result === 'left out' ? advice : (advice ?? usual),
      })
      continue
    }
    if (plain === null && answer.result === 'failed') {
      throw new CommandFailure(`The handler gave no answer: ${answer.problems.join('; ')}`)
    }
    checked.push({ sent, expected, got: null, ...answer, advice: usual })
  }
  return checked
}

function plainFirst(a: Interaction, b: Interaction): number {
  return Number(PLAIN_CALLS.includes(b.description)) - Number(PLAIN_CALLS.includes(a.description))
}

/** Sends a call when the handler is in the states that it needs. Resolves to the answer, or to why there is none. */
async function sendInStates(
  check: HandlerCheck,
  interaction: Interaction,
  states: ReadonlyMap<string, PublishedState>,
): Promise<GivenAnswer | Pick<CheckedInteraction, 'result' | 'problems'>> {
  const needed = interaction.providerStates.filter(({ name }) => states.get(name)?.by !== 'caller')
  if (check.statesUrl === null && needed.length > 0) {
    const names = needed.map(({ name }) => `"${name}"`).join(', ')
    return { result: 'left out', problems: [`needs the state ${names} of the handler: see --states`] }
  }
  try {
    const unknown = await bringAboutAll(check, needed, states)
    if (unknown === null) return await sendInteraction(check, interaction)
    return { result: 'left out', problems: [`the state "${unknown}" is optional, and unknown there`] }
  } catch (error) {
    if (error instanceof SigningError) throw error
    return { result: 'failed', problems: [problemOf(error)] }
  }
}

/** Makes the handler create states. Resolves to the name of an optional one that it does not know, or to null. */
async function bringAboutAll(
  check: HandlerCheck,
  needed: Interaction['providerStates'],
  states: ReadonlyMap<string, PublishedState>,
): Promise<string | null> {
  for (const state of needed) {
    const isKnown = await bringAbout(check, state)
    if (isKnown) continue
    if (states.get(state.name)?.isOptional === true) return state.name
    throw new Error(`the state "${state.name}" is unknown there: 404`)
  }
  return null
}

/** Makes the handler create a state, with the request of Pact's own verifiers. Resolves to whether it knows the state. */
async function bringAbout(
  { fetch, statesUrl, timeoutMs }: HandlerCheck,
  state: Interaction['providerStates'][number],
): Promise<boolean> {
  const { status } = await fetch(statesUrl ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ consumer: 'gateway', state: state.name, params: state.params, action: 'setup' }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (status === 404) return false
  if (status < 200 || status > 299) throw new Error(`the state "${state.name}" could not be created: ${status}`)
  return true
}

function problemOf(error: unknown): string {
  const { message, cause } = error as Error
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? `${message} (${code})` : message
}
