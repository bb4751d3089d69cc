import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MatchersV3 } from '@pact-foundation/pact'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, type NeededState, openContractOfClasses } from './consumer-contract.ts'
import {
  type ContractEvent,
  contractEvent,
  demandExact,
  EXACT_DELIVERY,
  formEvent,
  SPACED_EVENT,
} from './contract-event.ts'
import { HANDLER } from './sample-task.ts'
import { openStartedDispatch, type TriedTask } from './started-dispatch.ts'
import { relayTasks } from './task-relay.ts'
import { demandOneMessage } from './verify-messages.ts'

const { HTTPResponseStatusClass, matchStatus, regex } = MatchersV3
const WHO = 'The gateway breaks what it owes to a handler by https (contracts/gateway-https-handler.json)'
const SECRETS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(
  (text) => `whsec_${Buffer.from(text).toString('base64')}`,
)

const contract = await openContractOfClasses('gateway', 'https-handler')
compareAtTheEnd(contract)
const dispatch = await openStartedDispatch()
afterAll(() => dispatch[Symbol.asyncDispose]())

const LATER = '2100-01-01T00:00:00Z'

/** The entry of a handler. Each of the secrets signs. */
function entryOf(url: string, secrets: number): object {
  return {
    https: `${url}/webhooks?tenant=7`,
    // As during a change of secrets: the old one ends some day.
    secrets: SECRETS.slice(0, secrets).map((value, id) => ({
      id: `s${id}`,
      value,
      ...(id > 0 && { notAfter: LATER }),
    })),
  }
}

interface Case {
  readonly does: string
  /** Default: the task is new. */
  readonly state?: NeededState
  readonly event: ContractEvent
  /** Which attempt is the call. Default: the first. */
  readonly attempt?: number
  /** What a later gateway may say. */
  readonly added?: object
  /** How many secrets sign. Default: 1. */
  readonly secrets?: number
  /** Default: any status of 2xx. */
  readonly answer?: Exchange['answer']
}

const done = { status: matchStatus(200, HTTPResponseStatusClass.Success) }
/** Done, or refused for good. */
const doneOrRefused = { status: matchStatus(200, [200, 201, 202, 204, 410, 422]) }
/** Any status of 4xx. */
const refused = { status: matchStatus(401, HTTPResponseStatusClass.ClientError) }

const isNew: NeededState = { description: 'the task is new' }
const WAIT = { 'Retry-After': regex(/^\d{1,10}$/, '7') }

function answers(status: number, more: { retryAfter?: number } = {}): NeededState {
  return { description: 'the handler answers with a status', parameters: { status, ...more } }
}

const CASES: readonly Case[] = [
  { does: 'sends a task', event: contractEvent('new') },
  {
    does: 'sends a task again, because the first answer was lost',
    state: { description: 'the task was sent before' },
    ...{ event: contractEvent('again'), attempt: 2 },
  },
  {
    does: 'sends a task for the second time, of which the first did not arrive',
    ...{ event: contractEvent('second'), attempt: 2 },
  },
  {
    does: 'sends a delivery that is not JSON',
    state: { description: 'the delivery is not JSON' },
    ...{ event: formEvent(), answer: doneOrRefused },
  },
  {
    does: 'sends a task whose body was written with spaces',
    state: { description: 'the provider writes JSON with spaces and escapes' },
    event: SPACED_EVENT,
  },
  {
    does: 'sends a large body',
    state: { description: 'the body is large', parameters: { bytes: 262_144 } },
    event: contractEvent('large'),
  },
  {
    does: 'sends a task with a property that the handler does not know',
    ...{ event: contractEvent('added'), added: { later: 'a later gateway may say more' } },
  },
  {
    does: 'sends a task while its secrets change',
    state: { description: 'the sender signs with a new and an old secret' },
    ...{ event: contractEvent('rotation'), secrets: 2 },
  },
  {
    does: 'sends a task of a type that the handler does not know',
    state: { description: 'the handler does not know the type' },
    ...{ event: contractEvent('unknown', { type: 'contract.unknown' }), answer: doneOrRefused },
  },
  {
    does: 'sends a task signed with a secret that the handler does not know',
    state: { description: 'the sender has another secret' },
    ...{ event: contractEvent('forged'), answer: refused },
  },
  {
    does: 'sends a task that was signed an hour ago',
    state: { description: 'the sender signed an hour ago' },
    ...{ event: contractEvent('old'), answer: refused },
  },
  {
    does: 'learns that the task is refused for good',
    state: answers(422),
    ...{ event: contractEvent('refused'), answer: { status: 422 } },
  },
  {
    does: 'learns that the handler no longer exists',
    state: answers(410),
    ...{ event: contractEvent('gone'), answer: { status: 410 } },
  },
  {
    does: 'must wait because of too many calls',
    state: answers(429, { retryAfter: 7 }),
    ...{ event: contractEvent('many'), answer: { status: 429, headers: WAIT } },
  },
  {
    does: 'must wait because the handler is unavailable',
    state: answers(503, { retryAfter: 7 }),
    ...{ event: contractEvent('away'), answer: { status: 503, headers: WAIT } },
  },
  ...[502, 504].map((status) => ({
    does: `learns of a gateway in front of the handler that answers ${status}`,
    state: answers(status),
    ...{ event: contractEvent(`in-front-${status}`), answer: { status } },
  })),
  ...[301, 302, 303, 307, 308].map((status) => ({
    does: `does not follow a redirect by ${status}`,
    state: answers(status),
    ...{ event: contractEvent(`elsewhere-${status}`), answer: { status } },
  })),
  {
    does: 'learns of a conflict',
    state: answers(409),
    ...{ event: contractEvent('conflict'), answer: { status: 409 } },
  },
  {
    does: 'learns that this task alone must wait',
    state: answers(409, { retryAfter: 7 }),
    ...{ event: contractEvent('waits'), answer: { status: 409, headers: WAIT } },
  },
  {
    does: 'learns of a failure',
    state: answers(500),
    ...{ event: contractEvent('failed'), answer: { status: 500 } },
  },
]

const DONE = { done: true }
const JSON_TYPE = { 'Content-Type': regex(/^application\/json(;.*)?$/, 'application/json') }

/** A batch of two. After a status, the gateway sends each half. */
interface BatchCase {
  readonly does: string
  readonly id: string
  readonly state: NeededState
  readonly answer: Exchange['answer']
}

const BATCHES: readonly BatchCase[] = [
  {
    does: 'sends two tasks in a batch',
    id: 'batched',
    state: { description: 'the handler takes batches' },
    answer: { ...done, headers: JSON_TYPE, body: { results: [DONE, DONE] } },
  },
  ...[400, 413].map((status) => ({
    does: `learns by ${status} that a batch cannot be read`,
    id: `unread-${status}`,
    ...{ state: answers(status), answer: { status } },
  })),
]

/** What a gateway makes of an answer: the state of the task, the code, and whether it holds back the others. */
function tries(code: string, isAway = false) {
  return { state: 'pending', codes: [code], isAway }
}

const isFailed = tries('handler_failed')
const isBusy = tries('handler_busy', true)
/** After the time that the handler asks for, and a little more. */
const afterMinute = { waitsMs: expect.closeTo(64_000, -4) }

/** An answer of a handler, as the path of its URL, and what it means. */
const MEANINGS: Readonly<Record<string, object>> = {
  ...meaning({ state: 'done', isAway: false }, 200, 201, 202, 204, 206, 299),
  ...meaning({ state: 'dead', reason: 'handler_refused', isAway: false }, 410, 422),
  ...meaning(isFailed, 301, 307, 400, 401, 403, 404, 408, 409, 413, 415, 425, 500, 501),
  ...meaning(tries('handler_failed', true), 502, 504),
  ...meaning(isBusy, 429, 503),
  ...meaning({ ...isFailed, ...afterMinute }, '409/seconds', '409/date'),
  ...meaning({ ...isBusy, ...afterMinute }, '429/seconds', '429/date', '503/seconds', '503/date'),
}

function meaning(means: object, ...paths: readonly (number | string)[]): Readonly<Record<string, object>> {
  return Object.fromEntries(paths.map((path) => [String(path), means]))
}

describe('the gateway as a caller of handlers by https', () => {
  it('has an interaction for every status that its code names', () => {
    const code = join(import.meta.dirname, '../../packages/gateway/src/handlers/https-call.ts')
    const sets = readFileSync(code, 'utf8').matchAll(/Set\(\[([\d, ]+)\]\)/g)
    const named = Array.from(sets, ([, statuses = '']) => statuses.split(',').map(Number)).flat()
    const had = new Set([...CASES, ...BATCHES].map(({ answer }) => answer?.status))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((status) => !had.has(status))).toEqual([])
  })

  it.each(CASES)(
    '$does',
    async ({ does, state = isNew, event, attempt = 1, secrets = 1, added = {}, answer = done }) => {
      const { task, delivery } = event
      const signature = 'v1,[A-Za-z0-9+/]{43}='
      const repeat = (text: string) => Array.from({ length: secrets }, () => text).join(' ')
      const headers = {
        'content-type': 'application/json',
        // The key, as in the body. Only the attempt differs from call to call.
        'webhook-id': task.key,
        'webhook-timestamp': regex(/^\d{10}$/, '1764151200'),
        'webhook-signature': regex(`^${repeat(signature)}$`, repeat(`v1,${'A'.repeat(43)}=`)),
        'oncehook-attempt': String(attempt),
      }
      const body = { ...added, ...task }
      const request = { method: 'POST', path: '/webhooks', headers, body }
      await contract.expectExchange({ does, states: [state], request, answer }, async (url) => {
        const again = { status: 409, headers: { 'retry-after': '0' } }
        const known = Object.keys(task)
        await using relay = await relayTasks((_, index) => (index === attempt - 1 ? url : again), { known, added })
        const [tried] = await dispatch.send({ [HANDLER]: entryOf(relay.url, secrets) }, [delivery], [attempt])
        for (const call of relay.sent) {
          demandOneMessage(WHO, SECRETS.slice(0, secrets), call)
          expect(call.path, `${WHO}: the URL as it is configured`).toBe('/webhooks?tenant=7')
        }
        expect(new Set(relay.sent.map((call) => call.body)).size, `${WHO}: each attempt has the same body`).toBe(1)
        if (answer === done) expect(tried?.state, `${WHO}: what its answer means`).toBe('done')
      })
    },
  )

  it.each(BATCHES)('$does', async ({ does, id, state, answer }) => {
    const events = [1, 2].map((nth) => contractEvent(`${id}-${nth}`))
    const headers = {
      'content-type': 'application/json',
      'webhook-id': regex(/^batch_[0-9a-f]{64}$/, `batch_${'0'.repeat(64)}`),
      'webhook-timestamp': regex(/^\d{10}$/, '1764151200'),
      'webhook-signature': regex(/^v1,[A-Za-z0-9+/]{43}=$/, `v1,${'A'.repeat(43)}=`),
    }
    const body = { handler: HANDLER, events: events.map(({ task }) => ({ attempt: 1, ...task })) }
    const request = { method: 'POST', path: '/webhooks', headers, body }
    await contract.expectExchange({ does, states: [state], request, answer }, async (url) => {
      const half = { status: 200, json: { results: [DONE] } }
      const known = ['attempt', ...events.flatMap(({ task }) => Object.keys(task))]
      await using relay = await relayTasks((_, index) => (index === 0 ? url : half), { known })
      const entry = { ...entryOf(relay.url, 1), batch: 2 }
      const tried = await dispatch.send(
        { [HANDLER]: entry },
        events.map(({ delivery }) => delivery),
        [1, 1],
      )
      for (const { headers: sent, body: text } of relay.sent) {
        const verified = new Webhook(SECRETS[0] ?? '').verify(text, Object.fromEntries(sent))
        expect(verified, `${WHO}: a batch names its handler`).toMatchObject({ handler: HANDLER })
        expect(sent.has('oncehook-attempt'), `${WHO}: the attempt stands with each event`).toBe(false)
      }
      expect(
        tried.map((one) => one.state),
        `${WHO}: what its answer means`,
      ).toEqual(['done', 'done'])
    })
  })

  it('understands each answer of a handler', async () => {
    const paths = Object.keys(MEANINGS)
    await using relay = await relayTasks(({ path }) => {
      const [, status, form] = /^\/(\d+)(?:\/(\w+))?/.exec(path) ?? []
      const retryAfter = form === 'date' ? new Date(Date.now() + 60_000).toUTCString() : '60'
      const headers = { location: '/elsewhere', ...(form === undefined ? {} : { 'retry-after': retryAfter }) }
      return { status: Number(status), headers }
    })
    const entries = paths.map((path) => [
      path.replace('/', '-'),
      { https: `${relay.url}/${path}`, secrets: [{ id: '1', value: SECRETS[0] }] },
    ])
    const tried = await dispatch.send(Object.fromEntries(entries), [EXACT_DELIVERY])
    demandExact(WHO, relay.sent)
    const understood = (path: string): Partial<TriedTask> =>
      tried.find(({ handler }) => handler === path.replace('/', '-')) ?? {}
    for (const [path, means] of Object.entries(MEANINGS)) {
      expect.soft(understood(path), `${WHO}: what its answer ${path} means`).toMatchObject(means)
    }
  })
})
