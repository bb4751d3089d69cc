import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, type NeededState, openContractOfClasses } from './consumer-contract.ts'
import { type ContractEvent, contractEvent, demandExact, EXACT_DELIVERY, formEvent } from './contract-event.ts'
import { demandToken, toSentCall } from './hand-made-token.ts'
import { HANDLER } from './sample-task.ts'
import { openStartedDispatch } from './started-dispatch.ts'
import { type RelayedCall, relayTasks } from './task-relay.ts'

const { HTTPResponseStatusClass, matchStatus, regex } = MatchersV3
const WHO = 'The gateway breaks what it owes to a handler by tRPC (contracts/gateway-trpc-handler.json)'
const JSON_TYPE = { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') }
const BEARER = regex(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/, 'Bearer a.b.c')

const contract = await openContractOfClasses('gateway', 'trpc-handler')
compareAtTheEnd(contract)
const dispatch = await openStartedDispatch()
afterAll(() => dispatch[Symbol.asyncDispose]())

/** Checks the token of each call. */
function demandTokens(calls: readonly RelayedCall[], audience = HANDLER): void {
  for (const { path, headers, body } of calls) {
    demandToken(WHO, toSentCall(`http://handler.test${path}`, { headers, body }), { ...dispatch, audience })
  }
}

interface Case {
  readonly does: string
  /** Default: the task is new. */
  readonly state?: NeededState
  readonly events: readonly ContractEvent[]
  /** Which attempt is the call. Default: the first. */
  readonly attempt?: number
  /** What a later gateway may say. */
  readonly added?: object
  /** Default: each is done. */
  readonly answer?: Exchange['answer']
  /** What becomes of the tasks, as the results say. Default: each is done. */
  readonly means?: readonly object[]
}

const isNew: NeededState = { description: 'the task is new' }
const DONE = { done: true }
const isDone = { state: 'done', codes: [null], isAway: false }
const later = { state: 'pending', codes: ['plan:not.yet-2'], isAway: false }

/** The answer with one result for each task. A handler may add properties. */
function results(given: readonly object[]): Exchange['answer'] {
  const status = matchStatus(200, HTTPResponseStatusClass.Success)
  return { status, headers: JSON_TYPE, body: { result: { data: { results: given } } } } as Exchange['answer']
}

function refusal(retry: string) {
  return { refused: regex('^[\\w.:-]{1,64}$', 'plan:not.yet-2'), retry }
}

function answers(status: number): NeededState {
  return { description: 'the handler answers with a status', parameters: { status } }
}

function eventsOf(...eventIds: readonly string[]): readonly ContractEvent[] {
  return eventIds.map((eventId) => contractEvent(eventId))
}

const CASES: readonly Case[] = [
  {
    does: 'sends two tasks',
    events: eventsOf('one', 'two'),
  },
  {
    does: 'sends a task again, because the first answer was lost',
    state: { description: 'the task was sent before' },
    ...{ events: eventsOf('again'), attempt: 2 },
  },
  {
    does: 'sends a task for the second time, of which the first did not arrive',
    ...{ events: eventsOf('second'), attempt: 2 },
  },
  {
    does: 'sends a delivery that is not JSON',
    state: { description: 'the delivery is not JSON' },
    events: [formEvent()],
  },
  {
    does: 'sends a large body',
    state: { description: 'the body is large', parameters: { bytes: 262_144 } },
    events: eventsOf('large'),
  },
  {
    does: 'sends a task with a property that the handler does not know',
    ...{ events: eventsOf('added'), added: { later: 'a later gateway may say more' } },
  },
  {
    does: 'learns for each task when to try again',
    state: {
      description: 'the handler answers with results',
      parameters: { results: ['now', 'done', 'later', 'never'] },
    },
    events: eventsOf('race', 'fine', 'early', 'wrong'),
    answer: results([refusal('now'), DONE, refusal('later'), refusal('never')]),
    // The first is sent again at once.
    means: [{ codes: ['plan:not.yet-2', null] }, isDone, later, { state: 'dead', reason: 'plan:not.yet-2' }],
  },
  {
    does: 'learns why a task is refused, and how long to wait',
    state: {
      description: 'the handler answers with a refusal',
      parameters: { message: 'The plan is unknown', retryAfter: 7 },
    },
    events: eventsOf('told'),
    answer: results([{ ...refusal('later'), message: 'The plan is unknown', retryAfter: 7 }]),
    means: [
      {
        ...{ ...later, message: expect.stringContaining('The plan is unknown') },
        waitsMs: expect.closeTo(7_750, -3),
      },
    ],
  },
  {
    does: 'learns that the input is invalid',
    state: answers(400),
    ...{ events: eventsOf('invalid'), answer: { status: 400 } },
  },
  {
    does: 'learns that the input is too large',
    state: answers(413),
    ...{ events: eventsOf('too-large'), answer: { status: 413 } },
  },
  {
    does: 'learns of a failure',
    state: answers(500),
    ...{ events: eventsOf('failed'), answer: { status: 500 } },
  },
  {
    does: 'learns that the handler is unavailable',
    state: answers(503),
    ...{ events: eventsOf('away'), answer: { status: 503 } },
  },
  ...['the sender has another secret', 'the token is for another service', 'the sender signed an hour ago'].map(
    (description, index) => ({
      does: `sends a task although ${description}`,
      state: { description },
      ...{ events: eventsOf(`forged-${index}`), answer: { status: 401 } },
    }),
  ),
]

const isUnreadable = { state: 'pending', codes: ['handler_unreadable'], isAway: false }
const isFailed = { state: 'pending', codes: ['handler_failed'], isAway: false }
/** This blames no task. */
const isUnreached = { state: 'pending', codes: ['unavailable'], isAway: true }

/** What the status of an answer means. */
const MEANINGS: Readonly<Record<number, object>> = {
  ...meaning(isUnreadable, 400, 413),
  // Without results, it is no success.
  ...meaning(isFailed, 200, 204, 500, 501, 505),
  ...meaning(isUnreached, 301, 307, 401, 403, 404, 405, 409, 415, 422, 429, 502, 503, 504),
}

function meaning(means: object, ...statuses: readonly number[]): Readonly<Record<number, object>> {
  return Object.fromEntries(statuses.map((status) => [status, means]))
}

/** What a later handler may say, too. */
const MORE = { later: 'a later handler may say more' }

const doneAll = ({ body }: RelayedCall) => {
  const results = JSON.parse(body).events.map(() => ({ ...DONE, ...MORE }))
  return { status: 200, json: { result: { data: { results, ...MORE }, ...MORE }, ...MORE } }
}

describe('the gateway as a caller of handlers by tRPC', () => {
  it.each(CASES)('$does', async ({ does, state = isNew, events, attempt = 1, added = {}, ...told }) => {
    const { answer = results(events.map(() => DONE)) } = told
    const { means = events.map(() => (told.answer === undefined ? { state: 'done' } : {})) } = told
    const tasks = events.map(({ task }) => ({ attempt, ...added, ...task }))
    const headers = { 'content-type': 'application/json', authorization: BEARER }
    const request = { method: 'POST', path: '/trpc/events.handle', headers, body: { handler: HANDLER, events: tasks } }
    await contract.expectExchange({ does, states: [state], request, answer }, async (url) => {
      const known = ['attempt', ...Object.keys(events[0]?.task ?? {})]
      const again = {
        status: 200,
        json: { result: { data: { results: [{ refused: 'again', retry: 'now', ...MORE }] } } },
      }
      await using relay = await relayTasks(
        (call, index) => (index === attempt - 1 ? url : index < attempt ? again : doneAll(call)),
        { known, added },
      )
      const deliveries = events.map(({ delivery }) => delivery)
      const attempts = means.map((one) => ('codes' in one && Array.isArray(one.codes) ? one.codes.length : attempt))
      const tried = await dispatch.send({ [HANDLER]: { trpc: `${relay.url}/trpc` } }, deliveries, attempts)
      demandTokens(relay.sent)
      expect(tried, `${WHO}: what its answer means is not ${JSON.stringify(tried)}`).toMatchObject(means)
    })
  })

  it('understands each status of a handler', async () => {
    await using relay = await relayTasks(({ path }) => ({ status: Number(path.split('/')[1]) }))
    const statuses = Object.keys(MEANINGS)
    const entries = statuses.map((status) => [`answers-${status}`, { trpc: `${relay.url}/${status}` }])
    const tried = await dispatch.send(Object.fromEntries(entries), [EXACT_DELIVERY])
    demandExact(WHO, relay.sent)
    for (const [status, means] of Object.entries(MEANINGS)) {
      const one = tried.find(({ handler }) => handler === `answers-${status}`)
      expect.soft(one, `${WHO}: what its answer ${status} means`).toMatchObject(means)
    }
  })

  it('sends no more characters of events in a call than a handler must take', async () => {
    await using relay = await relayTasks(doneAll)
    const deliveries = eventsOf('b1', 'b2', 'b3', 'b4', 'b5').map(({ delivery }) => {
      const body = JSON.stringify({ ...JSON.parse(delivery.body), note: 'x'.repeat(500_000) })
      return { ...delivery, body }
    })
    const tried = await dispatch.send({ [HANDLER]: { trpc: `${relay.url}/trpc` } }, deliveries)
    expect(tried).toMatchObject(deliveries.map(() => isDone))
    const sizes = relay.sent.map(({ body }) =>
      JSON.parse(body)
        .events.map((one: object) => JSON.stringify(one))
        .join(''),
    )
    const most = Math.max(...sizes.map(({ length }) => length))
    expect(most, `${WHO}: a call has at most 2,097,152 characters of events`).toBeLessThanOrEqual(2_097_152)
  })

  it.each([400, 413, 500])('sends the halves of a batch that is answered with %i', async (status) => {
    await using relay = await relayTasks((call) => {
      const { events } = JSON.parse(call.body)
      return events.length > 1 ? { status } : doneAll(call)
    })
    const deliveries = eventsOf(`half-${status}`, `other-half-${status}`).map(({ delivery }) => delivery)
    const tried = await dispatch.send({ [HANDLER]: { trpc: `${relay.url}/trpc` } }, deliveries)
    expect(tried, `${WHO}: no event is lost`).toMatchObject([isDone, isDone])
    demandTokens(relay.sent)
  })
})
