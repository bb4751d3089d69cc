import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { systemClock } from '@oncehook/kernel/time/clock'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { createGuardedFetch } from '../../packages/gateway/src/handlers/guarded-fetch.ts'
import { createHttpsCall } from '../../packages/gateway/src/handlers/https-call.ts'
import type { TaskAnswer, TaskEvent } from '../../packages/gateway/src/handlers/task-event.ts'
import { compareAtTheEnd, type Exchange, type NeededState, openContractOfClasses } from './consumer-contract.ts'
import { forwardRequests } from './forward-requests.ts'
import { sampleTask } from './sample-task.ts'

const { HTTPResponseStatusClass, matchStatus, regex } = MatchersV3
const KEYS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(keyOf)
const JSON_TYPE = 'application/json'

const contract = await openContractOfClasses('gateway', 'https-handler')
compareAtTheEnd(contract)

function keyOf(text: string) {
  const key = readWebhookKey(`whsec_${Buffer.from(text).toString('base64')}`)
  if (key === null) throw new Error('The secret of a test is invalid')
  return { id: 'test', key, notAfter: null }
}

/** Sends a task as the gateway does, and resolves to what the answer means to it. */
async function sendTask(url: string, task: TaskEvent, keys: number): Promise<TaskAnswer | undefined> {
  const call = createHttpsCall({
    place: { by: 'https', url: new URL('/webhooks', url), keys: KEYS.slice(0, keys), mayBePrivate: true },
    fetch: createGuardedFetch({ lookup, mayBePrivate: true }),
    ...{ clock: systemClock, timeoutMs: 10_000 },
  })
  return (await call([task]))[0]
}

interface Case {
  readonly does: string
  /** Default: the task is new. */
  readonly state?: NeededState
  readonly task: TaskEvent
  /** How many secrets sign. Default: 1. */
  readonly keys?: number
  /** Default: any status of 2xx. */
  readonly answer?: Exchange['answer']
  /** Default: that it is done. */
  readonly means?: object
}

const done = { status: matchStatus(200, HTTPResponseStatusClass.Success) }
/** Done, or refused for good. */
const doneOrRefused = { status: matchStatus(200, [200, 201, 202, 204, 410, 422]) }
/** Any status of 4xx. */
const refused = { status: matchStatus(401, HTTPResponseStatusClass.ClientError) }
const isFailed = { refused: 'handler_failed', retry: 'later' }
const isBusy = { refused: 'handler_busy', retry: 'later', afterMs: 7_000, isBusy: true }
const isNever = { refused: 'handler_refused', retry: 'never' }

const isNew: NeededState = { description: 'the task is new' }
const WAIT = { 'Retry-After': regex(/^\d{1,10}$/, '7') }

function answers(status: number, more: { retryAfter?: number } = {}): NeededState {
  return { description: 'the handler answers with a status', parameters: { status, ...more } }
}

const CASES: readonly Case[] = [
  { does: 'sends a task', task: sampleTask({ eventId: 'new' }) },
  {
    does: 'sends a task again, because the first answer was lost',
    state: { description: 'the task was sent before' },
    task: sampleTask({ eventId: 'again', attempt: 2 }),
  },
  {
    does: 'sends a task for the second time, of which the first did not arrive',
    task: sampleTask({ eventId: 'second', attempt: 2 }),
  },
  {
    does: 'sends a delivery that is not JSON',
    state: { description: 'the delivery is not JSON' },
    task: sampleTask({ eventId: 'form', raw: Buffer.from('type=paid&id=sub_1') }),
    answer: doneOrRefused,
  },
  {
    does: 'sends a task whose body was written with spaces',
    state: { description: 'the provider writes JSON with spaces and escapes' },
    task: sampleTask({ eventId: 'spaces' }),
  },
  {
    does: 'sends a large body',
    state: { description: 'the body is large', parameters: { bytes: 262_144 } },
    task: sampleTask({ eventId: 'large' }),
  },
  {
    does: 'sends a task with a property that the handler does not know',
    task: sampleTask({ eventId: 'added', added: { later: 'a later gateway may say more' } }),
  },
  {
    does: 'sends a task while its secrets change',
    state: { description: 'the sender signs with a new and an old secret' },
    task: sampleTask({ eventId: 'rotation' }),
    keys: 2,
  },
  {
    does: 'sends a task of a type that the handler does not know',
    state: { description: 'the handler does not know the type' },
    task: sampleTask({ eventId: 'unknown', type: 'contract.unknown' }),
    answer: doneOrRefused,
  },
  {
    does: 'sends a task signed with a secret that the handler does not know',
    state: { description: 'the sender has another secret' },
    task: sampleTask({ eventId: 'forged' }),
    ...{ answer: refused, means: isFailed },
  },
  {
    does: 'sends a task that was signed an hour ago',
    state: { description: 'the sender signed an hour ago' },
    task: sampleTask({ eventId: 'old' }),
    ...{ answer: refused, means: isFailed },
  },
  {
    does: 'learns that the task is refused for good',
    state: answers(422),
    task: sampleTask({ eventId: 'refused' }),
    ...{ answer: { status: 422 }, means: isNever },
  },
  {
    does: 'learns that the handler no longer exists',
    state: answers(410),
    task: sampleTask({ eventId: 'gone' }),
    ...{ answer: { status: 410 }, means: isNever },
  },
  {
    does: 'must wait because of too many calls',
    state: answers(429, { retryAfter: 7 }),
    task: sampleTask({ eventId: 'many' }),
    ...{ answer: { status: 429, headers: WAIT }, means: isBusy },
  },
  {
    does: 'must wait because the handler is unavailable',
    state: answers(503, { retryAfter: 7 }),
    task: sampleTask({ eventId: 'away' }),
    ...{ answer: { status: 503, headers: WAIT }, means: isBusy },
  },
  ...[502, 504].map((status) => ({
    does: `learns of a gateway in front of the handler that answers ${status}`,
    state: answers(status),
    task: sampleTask({ eventId: `in-front-${status}` }),
    ...{ answer: { status }, means: { ...isFailed, isBusy: true } },
  })),
  ...[301, 302, 303, 307, 308].map((status) => ({
    does: `does not follow a redirect by ${status}`,
    state: answers(status),
    task: sampleTask({ eventId: `elsewhere-${status}` }),
    ...{ answer: { status }, means: isFailed },
  })),
  {
    does: 'learns of a conflict',
    state: answers(409),
    task: sampleTask({ eventId: 'conflict' }),
    ...{ answer: { status: 409 }, means: isFailed },
  },
  {
    does: 'learns that this task alone must wait',
    state: answers(409, { retryAfter: 7 }),
    task: sampleTask({ eventId: 'waits' }),
    ...{ answer: { status: 409, headers: WAIT }, means: { ...isFailed, afterMs: 7_000 } },
  },
  {
    does: 'learns of a failure',
    state: answers(500),
    task: sampleTask({ eventId: 'failed' }),
    ...{ answer: { status: 500 }, means: isFailed },
  },
]

describe('the gateway as a caller of handlers by https', () => {
  it('has an interaction for every status that its code names', () => {
    const code = join(import.meta.dirname, '../../packages/gateway/src/handlers/https-call.ts')
    const sets = readFileSync(code, 'utf8').matchAll(/Set\(\[([\d, ]+)\]\)/g)
    const named = Array.from(sets, ([, statuses = '']) => statuses.split(',').map(Number)).flat()
    const had = new Set(CASES.map(({ answer }) => answer?.status))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((status) => !had.has(status))).toEqual([])
  })

  it.each(CASES)('$does', async ({ does, state = isNew, task, keys = 1, answer = done, means = { done: true } }) => {
    const signature = 'v1,[A-Za-z0-9+/]{43}='
    const headers = {
      'content-type': JSON_TYPE,
      // The key, as in the body. Only the attempt differs from call to call.
      'webhook-id': task.key,
      'webhook-timestamp': regex(/^\d{10}$/, '1764151200'),
      'webhook-signature': regex(
        `^${Array.from({ length: keys }, () => signature).join(' ')}$`,
        Array.from({ length: keys }, () => `v1,${'A'.repeat(43)}=`).join(' '),
      ),
      'oncehook-attempt': String(task.attempt),
    }
    const request = { method: 'POST', path: '/webhooks', headers, body: JSON.parse(task.json) }
    await contract.expectExchange({ does, states: [state], request, answer }, async (url) => {
      // The verifier of Pact follows a redirect, so its place is in no answer.
      await using redirecting = await forwardRequests(() => url, undefined, { location: '/elsewhere' })
      expect(await sendTask(redirecting.url, task, keys)).toMatchObject(means)
    })
  })
})
