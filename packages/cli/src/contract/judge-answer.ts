import { type GivenAnswer, matchAnswer } from './match-answer.ts'
import type { CalledBy, Interaction } from './published-contracts.ts'

/** What an answer is worth. */
export interface Judgement {
  readonly result: 'ok' | 'failed' | 'left out'
  readonly problems: readonly string[]
  /** Better advice than that of the state of the interaction. Null if there is none. */
  readonly advice: string | null
}

/** How a handler is called, and how it answered the plain call, which comes first. */
export interface PlainCall {
  readonly by: CalledBy
  /** The command made up the body, because it was given none. */
  readonly isMadeUp: boolean
  readonly answer: GivenAnswer
  /** The answer is what the contract expects. */
  readonly isDone: boolean
}

/** The calls that say nothing but "here is a task". */
export const PLAIN_CALLS: readonly string[] = ['sends a task', 'sends two tasks']

const SENDER_REFUSED: readonly number[] = [401, 403]
const SENDER_ADVICE = {
  https: 'Check the secret: your handler accepts no signature that is made with it',
  trpc: 'Check the secret, which is SERVICE_TOKEN_SECRET, and --name: a token is for the handler of this name only',
} as const
const MADE_UP =
  'The command made the body up: give it an event that your handler acts on, with --body, --type and --provider'
const NOT_YOURS = 'Your handler must act on the event that --body, --type and --provider describe'
const AS_BEFORE = 'The first call was answered like this, too: begin with it'
const UNVERIFIED = 'an authentic task is refused in the same way, so nothing shows that signatures are verified'
const NOT_JSON = 'the delivery is not JSON'

/**
 * Compares an answer with the contract. A handler may refuse for good what no attempt can mend: a delivery that is not JSON, and a
 * body that is made up. What is left out then shows nothing about the handler.
 */
export function judgeAnswer(interaction: Interaction, answer: GivenAnswer, plain: PlainCall): Judgement {
  const { response, providerStates } = interaction
  const problems = matchAnswer(response, answer)
  const isRefused = isRefusal(plain.by, answer)
  const isAlike = answer.status === plain.answer.status && isRefused === isRefusal(plain.by, plain.answer)
  if (SENDER_REFUSED.includes(response.status) && isRefused && isAlike) return judged('failed', [UNVERIFIED])
  if (problems.length === 0) return judged('ok')
  if (isRefused && providerStates.some(({ name }) => name === NOT_JSON)) return judged('ok')
  if (isRefused && isAlike && plain.isMadeUp && response.status === 200) return leaveOut(interaction, answer)
  return judged('failed', problems, answer, adviceFor(interaction, isAlike, plain))
}

function leaveOut({ description }: Interaction, answer: GivenAnswer): Judgement {
  if (!PLAIN_CALLS.includes(description))
    return judged('left out', ['your handler refuses it as it does the first one'])
  return judged('left out', ['your handler refuses the event for good'], answer, MADE_UP)
}

function judged(
  result: Judgement['result'],
  problems: readonly string[] = [],
  answer?: GivenAnswer,
  advice: string | null = null,
): Judgement {
  const reason = answer === undefined ? null : reasonIn(answer)
  return { result, problems: [...problems, ...(reason === null ? [] : [`it says: ${reason}`])], advice }
}

function adviceFor({ description, response }: Interaction, isAlike: boolean, plain: PlainCall): string | null {
  if (response.status !== 200 || !isAlike || plain.isDone) return null
  if (!PLAIN_CALLS.includes(description)) return AS_BEFORE
  if (SENDER_REFUSED.includes(plain.answer.status)) return SENDER_ADVICE[plain.by]
  return plain.isMadeUp ? MADE_UP : NOT_YOURS
}

/** Whether the handler says that no attempt can succeed. */
function isRefusal(by: CalledBy, { status, json }: GivenAnswer): boolean {
  if (by === 'https') return status === 410 || status === 422
  const results = resultsIn(json)
  return results.length > 0 && results.every(({ refused, retry }) => typeof refused === 'string' && retry === 'never')
}

interface GivenResult {
  readonly refused?: unknown
  readonly retry?: unknown
  readonly message?: unknown
}

function resultsIn(json: unknown): readonly GivenResult[] {
  const results = Object(Object(Object(json).result).data).results
  return Array.isArray(results) ? results.map((result) => Object(result)) : []
}

const LONGEST_REASON = 200

/** What the handler says about its answer: its message, the code of its error, or its text. Null if it says nothing. */
function reasonIn({ json, text }: GivenAnswer): string | null {
  const places = [...resultsIn(json), Object(json), Object(Object(json).error)]
  const [said = json === undefined ? text : ''] = places
    .flatMap(({ message, detail, error, refused }) => [message, detail, error, refused])
    .filter((value) => typeof value === 'string')
  const oneLine = said.replaceAll(/\s+/g, ' ').trim()
  return oneLine === '' ? null : oneLine.slice(0, LONGEST_REASON)
}
