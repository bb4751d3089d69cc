import { MatchersV3 } from '@pact-foundation/pact'
import type { Exchange, NeededState } from './consumer-contract.ts'
import { data, refusal, time } from './gateway-contract.ts'

const { integer, regex, string } = MatchersV3

/** The token with which the operators of the contracts call. A provider test sets it to the token of its gateway. */
export const OPERATOR_TOKEN = 'the-token-of-an-operator-in-a-test-of-contracts'

/** The path of a sign-in. The other paths of a sign-in are below it. */
export const SIGN_IN = '/sign-in'

/** A call of the operator API, as its contract has it. */
export interface OperatorCall {
  readonly does: string
  readonly states?: readonly NeededState[]
  readonly procedure: string
  /** Absent: the call has no input. */
  readonly input?: object
  readonly answer: Exchange['answer']
}

const BEARER = { authorization: `Bearer ${OPERATOR_TOKEN}` }

/** The exchange for a call. `by`: the headers that say who calls. */
export function operatorExchange(call: OperatorCall, by: Readonly<Record<string, string>> = BEARER): Exchange {
  const { does, states, procedure, input, answer } = call
  const headers = { ...by, 'content-type': 'application/json' }
  const body = input === undefined ? {} : { body: input as never }
  const request = { method: 'POST', path: `/operator/${procedure}`, headers, ...body }
  return { does, states: states ?? [{ description: 'nothing in particular' }], request, answer }
}

const counts = { pending: integer(0), processing: integer(0), done: integer(0), unhandled: integer(0) }

/** What both clients show of all events. */
export const overviewWith = (more: object): Exchange['answer'] =>
  data({
    ...{ states: { ...counts, dead: integer(0), closed: integer(0) }, deadByReason: {}, deadOfOtherReasons: 0 },
    ...{ oldestUnsettledSeconds: integer(0), pausedProviders: [], pausedHandlers: [], receivedLastMinute: integer(1) },
    ...more,
  })

/** The same when an event is dead. */
export const OVERVIEW = overviewWith({
  states: { ...counts, dead: 1, closed: integer(0) },
  deadByReason: { order_unknown: 1 },
})

/** The condition that there is a dead event of this provider, whose record has this id. */
export const dead = (id: string): NeededState => ({ description: 'an event is dead', parameters: { id } })

/** The condition that the bytes and headers of the event with this id are as its provider sent them. */
export const authentic = (id: string): NeededState => ({ description: 'an event is authentic', parameters: { id } })

/** The handler of the states that have one. */
export const HANDLER = 'billing'

/** The progress of a finished replay of two events, one of which is dead again. */
export const REPLAY = {
  ...{ state: 'finished', matched: 2, started: 2, done: 1, failed: 1, notRead: 0, by: 'alice', reason: 'a replay' },
  ...{ startedAt: time(), finishedAt: time() },
}

/** The condition that alice has a session. */
export const SIGNED_IN: NeededState = { description: 'an operator is signed in' }

/** The condition that the token of the operator, or the session that it opened, is unknown. */
export const STRANGER: NeededState = { description: 'the operator has another token' }

/** What somebody without a valid token gets. */
export const UNKNOWN: Exchange['answer'] = refusal(401, 'unauthenticated')

/** The condition that the token of the operator may only read. */
export const READER: NeededState = { description: 'the operator may only read' }

/** What an operator gets who may not do that. */
export const MAY_NOT: Exchange['answer'] = refusal(403, 'role_missing')

/** A refusal as the page reads it: its code, and the id by which the log has the request. */
export function refusedPage(status: number, reason: string): Exchange['answer'] {
  const body = { error: { message: string('A sentence'), code: integer(-32_000), data: { reason } } }
  return { status, headers: { 'X-Request-Id': REQUEST_ID }, body: body as never }
}

/** The id of a request. */
export const REQUEST_ID = regex(/^[\w.-]{8,128}$/, 'the-id-of-a-request')

/** An event that had an error and then an outcome, was closed, and was replayed: what is special about it. */
export const TRIED = {
  ...{ state: 'closed', dueAt: time(), headers: { 'content-type': 'text/plain' }, revivals: 1 },
  attempts: [
    { at: time(), ms: 12, outcome: 'failed', code: 'order_unknown', message: 'No order' },
    { at: time(), ms: 7, outcome: 'applied', code: null, message: null },
  ],
  ...{ lastError: { code: 'order_unknown', message: 'No order' }, outcome: { kind: 'applied', version: 2 } },
  closed: { at: time(), by: 'alice', reason: 'It was paid' },
  replays: [{ at: time(), by: 'bob', reason: 'a replay', notRead: 'key_unknown' }],
}

/** A provider with counted deliveries, whose older secret ends: what is special about it. */
export const ROTATING = {
  ...{ name: 'acme', deliveries: { recorded: 9, signature_invalid: 2 }, paused: null },
  secrets: [
    { id: 'newer', notAfter: null, lastMatchedAt: time(), matches: 3 },
    { id: 'older', notAfter: time(), lastMatchedAt: null, matches: 0 },
  ],
}

/** Deliveries that were refused without a record. */
export const NOT_KEPT = {
  provider: 'shop',
  reason: 'signature_invalid',
  why: null,
  count: 7,
  since: time(),
  lastAt: time(),
}
