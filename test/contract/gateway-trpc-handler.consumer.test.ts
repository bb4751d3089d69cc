import { lookup } from 'node:dns/promises'
import { createTrpcCall } from '@oncehook/gateway/handlers/trpc-call'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { newServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { createGuardedFetch } from '../../packages/gateway/src/handlers/guarded-fetch.ts'
import type { CallHandler, TaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'
import { compareAtTheEnd, type Exchange, type NeededState, openContractOfClasses } from './consumer-contract.ts'
import { HANDLER, sampleTask } from './sample-task.ts'

const { HTTPResponseStatusClass, matchStatus, regex } = MatchersV3
const JSON_TYPE = { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') }
const BEARER = regex(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/, 'Bearer a.b.c')

const contract = await openContractOfClasses('gateway', 'trpc-handler')
compareAtTheEnd(contract)

/** What calls a handler as the gateway does. */
function callerOf(url: string): CallHandler {
  return createTrpcCall({
    ...{ handler: HANDLER, url: new URL('/trpc', url), timeoutMs: 10_000, now: () => performance.now() },
    tokens: testServiceTokens(newServiceKeyPair(), { audience: HANDLER }),
    fetch: createGuardedFetch({ lookup, mayBePrivate: true }),
  })
}

interface Case {
  readonly does: string
  /** Default: the tasks are new. */
  readonly state?: NeededState
  readonly tasks: readonly TaskEvent[]
  /** Default: each is done. */
  readonly answer?: Exchange['answer']
  /** What the answers mean to the gateway. Default: that each is done. Null: that the handler could not be called, which blames no task. */
  readonly means?: readonly object[] | null
}

const isNew: NeededState = { description: 'the task is new' }
const DONE = { done: true }
const unreadable = { refused: 'handler_unreadable', retry: 'later' }
const failed = { refused: 'handler_failed', retry: 'later' }

/** The answer with one result for each task. A handler may add properties. */
function results(given: readonly object[]): Exchange['answer'] {
  const status = matchStatus(200, HTTPResponseStatusClass.Success)
  return { status, headers: JSON_TYPE, body: { result: { data: { results: given } } } } as Exchange['answer']
}

function refusal(retry: string) {
  return { refused: regex('^[\\w.:-]{1,64}$', 'not_yet'), retry }
}

function answers(status: number): NeededState {
  return { description: 'the handler answers with a status', parameters: { status } }
}

function sample(...eventIds: readonly string[]): readonly TaskEvent[] {
  return eventIds.map((eventId) => sampleTask({ eventId }))
}

const CASES: readonly Case[] = [
  {
    does: 'sends two tasks',
    tasks: sample('one', 'two'),
  },
  {
    does: 'sends a task again, because the first answer was lost',
    state: { description: 'the task was sent before' },
    tasks: [sampleTask({ eventId: 'again', attempt: 2 })],
  },
  {
    does: 'sends a task for the second time, of which the first did not arrive',
    tasks: [sampleTask({ eventId: 'second', attempt: 2 })],
  },
  {
    does: 'sends a delivery that is not JSON',
    state: { description: 'the delivery is not JSON' },
    tasks: [sampleTask({ eventId: 'form', raw: Buffer.from('type=paid&id=sub_1') })],
  },
  {
    does: 'sends a large body',
    state: { description: 'the body is large', parameters: { bytes: 262_144 } },
    tasks: sample('large'),
  },
  {
    does: 'sends a task with a property that the handler does not know',
    tasks: [sampleTask({ eventId: 'added', added: { later: 'a later gateway may say more' } })],
  },
  {
    does: 'learns for each task when to try again',
    state: {
      description: 'the handler answers with results',
      parameters: { results: ['now', 'done', 'later', 'never'] },
    },
    tasks: sample('race', 'fine', 'early', 'wrong'),
    answer: results([refusal('now'), DONE, refusal('later'), refusal('never')]),
    means: [{ refused: 'not_yet', retry: 'now' }, DONE, { retry: 'later' }, { retry: 'never' }],
  },
  {
    does: 'learns why a task is refused, and how long to wait',
    state: {
      description: 'the handler answers with a refusal',
      parameters: { message: 'The plan is unknown', retryAfter: 7 },
    },
    tasks: sample('told'),
    answer: results([{ ...refusal('later'), message: 'The plan is unknown', retryAfter: 7 }]),
    means: [{ retry: 'later', message: 'Refused by the handler: not_yet (The plan is unknown)', afterMs: 7_000 }],
  },
  {
    does: 'learns that the input is invalid',
    state: answers(400),
    tasks: sample('invalid'),
    ...{ answer: { status: 400 }, means: [unreadable] },
  },
  {
    does: 'learns that the input is too large',
    state: answers(413),
    tasks: sample('too-large'),
    ...{ answer: { status: 413 }, means: [unreadable] },
  },
  {
    does: 'learns of a failure',
    state: answers(500),
    tasks: sample('failed'),
    ...{ answer: { status: 500 }, means: [failed] },
  },
  {
    does: 'learns that the handler is unavailable',
    state: answers(503),
    tasks: sample('away'),
    ...{ answer: { status: 503 }, means: null },
  },
  ...['the sender has another secret', 'the token is for another service', 'the sender signed an hour ago'].map(
    (description) => ({
      does: `sends a task although ${description}`,
      state: { description },
      tasks: sample('forged'),
      ...{ answer: { status: 401 }, means: null },
    }),
  ),
]

describe('the gateway as a caller of handlers by tRPC', () => {
  it.each(CASES)('$does', async ({ does, state = isNew, tasks, ...told }) => {
    const done = tasks.map(() => DONE)
    const { answer = results(done), means = done } = told
    const events = tasks.map(({ attempt, json }) => ({ attempt, ...JSON.parse(json) }))
    const headers = { 'content-type': 'application/json', authorization: BEARER }
    const request = { method: 'POST', path: '/trpc/events.handle', headers, body: { handler: HANDLER, events } }
    await contract.expectExchange({ does, states: [state], request, answer }, async (url) => {
      const answered = callerOf(url)(tasks)
      if (means === null) await expect(answered).rejects.toSatisfy(unavailable.is)
      else expect(await answered).toMatchObject(means)
    })
  })
})
