// Verifies a handler: makes each call of the contract, matches the answer with the expected one by the rules of Pact, and says
// whether the handler, the caller or the made-up body is the reason for a difference.

import { SigningError } from '@oncehook/webhooks/signing/signer'
import { CommandFailure } from '../command.ts'
import { type CallTarget, sendInteraction } from './call.ts'
import {
  type CalledBy,
  type ExpectedAnswer,
  type Interaction,
  readCatalogue,
  readHandlerContract,
} from './published-contracts.ts'

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
 * Sends the calls of the contract to a handler, one after the other. Those that need a state of the handler are left to the
 * verifiers of Pact, which can create it.
 * @throws CommandFailure if the handler gives no answer to the first call
 */
export async function verifyHandler(target: CallTarget): Promise<readonly CheckedInteraction[]> {
  const states = new Map(
    readCatalogue()
      .filter(({ provider }) => provider === `${target.by}-handler`)
      .map((state) => [state.name, state]),
  )
  const interactions = readHandlerContract(target.by).filter(({ providerStates }) =>
    providerStates.every(
      ({ name }) => states.get(name)?.by === 'caller' || (target.takesBatches && name === TAKES_BATCHES),
    ),
  )
  const checked: CheckedInteraction[] = []
  let plain: PlainCall | null = null
  // The plain call comes first. Without its answer, the others would only repeat the problem.
  for (const interaction of interactions.toSorted(plainFirst)) {
    const { description: sent, providerStates, response } = interaction
    const usual = providerStates.map(({ name }) => states.get(name)?.advice).find((text) => text !== undefined) ?? null
    const expected = describeStatus(response)
    const answer = await trySending(target, interaction)
    if (typeof answer === 'string') {
      if (plain === null) throw new CommandFailure(`The handler gave no answer: ${answer}`)
      checked.push({ sent, expected, got: null, result: 'failed', problems: [answer], advice: usual })
      continue
    }
    const isDone = matchAnswer(response, answer).length === 0
    plain ??= { by: target.by, isMadeUp: target.handler.body === null, answer, isDone }
    const { advice, ...judgement } = judgeAnswer(interaction, answer, plain)
    const better = advice ?? (judgement.result === 'left out' ? null : usual)
    checked.push({ sent, expected, got: answer.status, ...judgement, advice: better })
  }
  return checked
}

const TAKES_BATCHES = 'the handler takes batches'

function plainFirst(a: Interaction, b: Interaction): number {
  return Number(PLAIN_CALLS.includes(b.description)) - Number(PLAIN_CALLS.includes(a.description))
}

/** The answer, or why there is none. */
async function trySending(target: CallTarget, interaction: Interaction): Promise<GivenAnswer | string> {
  try {
    return await sendInteraction(target, interaction)
  } catch (error) {
    if (error instanceof SigningError) throw error
    return problemOf(error)
  }
}

function problemOf(error: unknown): string {
  const { message, cause } = error as Error
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? `${message} (${code})` : message
}

/** What an answer is worth. Its advice is better than that of the state of the interaction. */
type Judgement = Pick<CheckedInteraction, 'result' | 'problems' | 'advice'>

/** How a handler is called, and how it answered the plain call, which comes first. */
interface PlainCall {
  readonly by: CalledBy
  /** The command made up the body, because it was given none. */
  readonly isMadeUp: boolean
  readonly answer: GivenAnswer
  /** The answer is what the contract expects. */
  readonly isDone: boolean
}

/** The calls that say nothing but "here is a task". */
const PLAIN_CALLS: readonly string[] = ['sends a task', 'sends two tasks']

const SENDER_REFUSED: readonly number[] = [401, 403]
const SENDER_ADVICE = {
  https: 'Check the secret: your handler accepts no signature that is made with it',
  trpc: 'Check that your handler has the public key of this private key, and --name: a token is for the handler of this name only',
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
function judgeAnswer(interaction: Interaction, answer: GivenAnswer, plain: PlainCall): Judgement {
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

/** An answer, as far as a contract speaks about it. */
export interface GivenAnswer {
  readonly status: number
  readonly headers: Headers
  /** The parsed body. Undefined if it is not JSON. */
  readonly json: unknown
  readonly text: string
}

type Rules = ExpectedAnswer['matchingRules']['body']

const CLASSES: Readonly<Record<string, string>> = { success: '2xx', clientError: '4xx' }

/** The statuses that a contract permits: `2xx`, `409`, or `200, 204 or 422`. */
function describeStatus({ status, matchingRules }: ExpectedAnswer): string {
  const permitted = matchingRules.status.$?.matchers[0]?.status ?? [status]
  if (typeof permitted === 'string') return CLASSES[permitted] ?? permitted
  const [last, ...others] = permitted.toReversed()
  return others.length === 0 ? String(last) : `${others.toReversed().join(', ')} or ${last}`
}

/**
 * The differences between an answer and a contract; none if it is kept. An answer may have more headers and properties than
 * the contract names. No difference quotes the answer.
 */
function matchAnswer(expected: ExpectedAnswer, given: GivenAnswer): readonly string[] {
  if (!permits(expected, given.status)) {
    return [`the status is ${given.status} instead of ${describeStatus(expected)}`]
  }
  const { headers, body, matchingRules } = expected
  return [
    ...Object.entries(headers).flatMap(([name, [example = '']]) =>
      matchHeader(name, example, matchingRules.header, given.headers),
    ),
    ...(body === undefined ? [] : matchValue({ at: '$', rules: matchingRules.body }, body.content, given.json)),
  ]
}

function permits({ status, matchingRules }: ExpectedAnswer, given: number): boolean {
  const permitted = matchingRules.status.$?.matchers[0]?.status
  if (permitted === undefined) return given === status
  if (typeof permitted === 'object') return permitted.includes(given)
  return CLASSES[permitted] === `${Math.floor(given / 100)}xx`
}

function matchHeader(name: string, example: string, rules: Rules, headers: Headers): readonly string[] {
  const value = headers.get(name)
  if (value === null) return [`the header ${name} is missing`]
  const pattern = patternOf(rules[name])
  const isRight = pattern === null ? value === example : pattern.test(value)
  return isRight ? [] : [`the header ${name} is not ${pattern === null ? example : `like ${example}`}`]
}

function patternOf(rule: Rules[string] | undefined): RegExp | null {
  const text = rule?.matchers[0]?.regex
  return text === undefined ? null : new RegExp(text)
}

interface Place {
  /** A path, as in `$.results[0]`. */
  readonly at: string
  readonly rules: Rules
}

function matchValue(place: Place, expected: unknown, given: unknown): readonly string[] {
  if (Array.isArray(expected)) return matchList(place, expected, given)
  if (typeof expected === 'object' && expected !== null) return matchObject(place, expected, given)
  const pattern = patternOf(place.rules[place.at])
  const isRight = pattern === null ? given === expected : typeof given === 'string' && pattern.test(given)
  return isRight ? [] : [`${place.at} is not ${pattern === null ? JSON.stringify(expected) : `like ${expected}`}`]
}

function matchList({ at, rules }: Place, expected: readonly unknown[], given: unknown): readonly string[] {
  if (!Array.isArray(given)) return [`${at} is not a list`]
  if (given.length !== expected.length) return [`the length of ${at} is ${given.length} instead of ${expected.length}`]
  return expected.flatMap((one, index) => matchValue({ at: `${at}[${index}]`, rules }, one, given[index]))
}

function matchObject({ at, rules }: Place, expected: object, given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return [`${at} is not an object`]
  const members = given as Readonly<Record<string, unknown>>
  return Object.entries(expected).flatMap(([name, value]) =>
    matchValue({ at: `${at}.${name}`, rules }, value, members[name]),
  )
}
