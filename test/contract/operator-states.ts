import { createHmac } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { cookieOf, type OperatedSystem, PROVIDERS, TOKENS } from '@oncehook/gateway/testing/start-operated-system'
import { IN_LINE_DUE_AT } from '@oncehook/queue/task'
import { type Db, ObjectId, Timestamp } from 'mongodb'
import { expect } from 'vitest'
import { HANDLER } from './operator-exchanges.ts'
import { CONTENT, parkReceipt } from './paid-orders.ts'
import type { StateHandler } from './verify-contract.ts'

/** A system, and the database of its gateway. */
export interface Operated {
  readonly system: OperatedSystem
  readonly db: Db
}

type States = Readonly<Record<string, StateHandler>>

interface Identified {
  readonly id: string
}

interface InLine {
  readonly handler: string
  readonly earlier: string
}

interface Reasoned {
  readonly reason: string
}

/** Calls a procedure that changes something, and resolves to the status. */
async function change({ system }: Operated, procedure: string, input: object): Promise<number> {
  const headers = { authorization: `Bearer ${TOKENS.operators.alice}`, 'content-type': 'application/json' }
  const sent = { method: 'POST', headers, body: JSON.stringify(input) }
  return (await system.call(`/operator/${procedure}`, sent)).status
}

/** Signs in with a browser. Resolves to its cookie; empty if the token is unknown. */
export async function openSession({ system }: Operated, token: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  return cookieOf(await system.call('/sign-in', { method: 'POST', headers, body: JSON.stringify({ token }) }))
}

/** Removes what other states have left. */
async function clear(operated: Operated): Promise<void> {
  for (const name of ['events', 'replays', 'refusals', 'operator_sessions'])
    await operated.db.collection(name).deleteMany()
  const reason = 'the next interaction begins'
  // Each change is a line of the audit log, of which an operator can write a limited number.
  const { providers, handlers } = operated.system.operator()
  for (const { name: provider, paused } of await providers.list.query()) {
    if (paused !== null) await change(operated, 'providers.resume', { provider, reason })
  }
  for (const { name: handler, paused } of await handlers.list.query()) {
    if (paused !== null) await change(operated, 'handlers.resume', { handler, reason })
  }
}

async function store({ system }: Operated, members: Partial<EventDocument>): Promise<void> {
  await system.events.insertOne(sampleRecord({ provider: 'acme', ...members }))
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LEASE_MS = 30_000
const DEAD = { state: 'dead', reason: 'order_unknown' } as const

/** The states of a gateway without handlers and encryption. */
export function plainStates(operated: Operated): States {
  const { system, db } = operated
  return {
    'nothing in particular': () => clear(operated),
    async 'a provider was paused'({ provider, reason }: Reasoned & { provider: string }) {
      await clear(operated)
      // Of two entries, so that there is another page.
      const others = Object.keys(PROVIDERS).filter((name) => name !== provider)
      for (const name of [...others, provider])
        expect(await change(operated, 'providers.pause', { provider: name, reason })).toBe(200)
    },
    async 'a forged delivery was refused'() {
      await clear(operated)
      expect(await system.deliver('{}', { provider: 'shop', secret: 'the-secret-of-somebody-else' })).toBe(401)
      // As the operator API reads.
      const refused = () => db.collection('refusals').countDocuments({ status: 401 }, { readConcern: 'majority' })
      await expect.poll(refused).toBe(1)
    },
    async 'deliveries were refused without a record'() {
      await clear(operated)
      const [at, expireAt] = [new Date(), new Date(Date.now() + DAY_MS)]
      const kind = { provider: 'shop', reason: 'signature_invalid', why: null }
      const _id = { provider: 'shop', ring: 'signature_invalid', slot: -1 } as never
      await db.collection('refusals').insertOne({ _id, ...kind, count: 7, since: at, lastAt: at, expireAt })
    },
    async 'a minute was counted'() {
      await clear(operated)
      const _id = new Date((Math.floor(Date.now() / 60_000) - 5) * 60_000)
      const counts = { received: 3, refused: { rate_limited: 2 }, answered: { 0: 1 }, failed: { order_unknown: 1 } }
      const $set = { ...counts, waiting: [1, 0, 0, 0] }
      await db.collection<{ _id: Date }>('minutes').replaceOne({ _id }, $set, { upsert: true })
    },
    async 'an operator is signed in'() {
      await clear(operated)
      await openSession(operated, TOKENS.operators.alice)
    },
    async 'a receipt is parked'({ name }: { name: string }) {
      await clear(operated)
      await parkReceipt(system.fulfilment, name)
    },
    async 'there is an order of a customer'({ orderId: id, customerId }: { orderId: string; customerId: string }) {
      await clear(operated)
      await fulfilmentClient(system.fulfilment).orders.put.mutate({ id, order: { ...CONTENT, customerId } })
    },
  }
}

/** The states of events, at a gateway without handlers and encryption. */
export function eventStates(operated: Operated): States {
  const { system, db } = operated
  return {
    async 'an event is dead'({ id }: Identified) {
      await clear(operated)
      await store(operated, { _id: new ObjectId(id), ...DEAD })
    },
    async 'an event was tried, closed and replayed'({ id }: Identified) {
      await clear(operated)
      const at = new Date()
      await store(operated, {
        ...{ _id: new ObjectId(id), ...DEAD, state: 'closed', dueAt: at, again: { at, revivals: 1 } },
        ...{ headers: { 'content-type': 'text/plain' }, facts: { amount: 1999, currency: 'EUR' } },
        attempts: [
          { at, ms: 12, outcome: 'failed', code: 'order_unknown', message: 'No order' },
          { at, ms: 7, outcome: 'applied', code: null, message: null, version: 2 },
        ],
        closed: { at, by: 'alice', reason: 'It was paid' },
        replays: [{ id: new ObjectId(), at, by: 'bob', reason: 'a replay', notRead: 'key_unknown' }],
      })
    },
    async 'there are more events than a page has'() {
      await clear(operated)
      const records = Array.from({ length: 101 }, () => sampleRecord({ provider: 'acme', ...DEAD }))
      await system.events.insertMany(records)
    },
    async 'an order has a dead event'({ orderId, eventId }: { orderId: string; eventId: string }) {
      await clear(operated)
      await store(operated, { orderId, eventId, ...DEAD })
    },
    async 'an event is authentic'({ id }: Identified) {
      await clear(operated)
      const at = Math.floor(Date.now() / 1_000)
      const signature = createHmac('sha256', system.secrets.newer).update(`${at}.{}`).digest('hex')
      await store(operated, { _id: new ObjectId(id), headers: { 'stripe-signature': `t=${at},v1=${signature}` } })
    },
    async 'an event is being processed'({ id, orderId }: Identified & { orderId: string }) {
      await clear(operated)
      const held = { state: 'processing', claim: 'stuck', dueAt: new Date(Date.now() + LEASE_MS) } as const
      await store(operated, { _id: new ObjectId(id), orderId, ...held })
    },
    async 'a replay is finished'({ replayId }: { replayId: string }) {
      await clear(operated)
      const [_id, at] = [new ObjectId(replayId), new Date()]
      const by = { by: 'alice', reason: 'a replay' }
      const over = { state: 'finished', startedAt: at, finishedAt: at, leaseUntil: at, cursor: null, until: null }
      await db.collection('replays').insertOne({ _id, ...by, ...over, filter: '{}', ratePerSecond: null, matched: 2 })
      for (const members of [{}, DEAD]) await store(operated, { ...members, replays: [{ id: _id, at, ...by }] })
    },
  }
}

/** The states of a gateway with a handler, with encryption by the key `first`, and with a secret that expires soon. */
export function handlerStates(operated: Operated): States {
  return {
    'records are encrypted': () => clear(operated),
    'a handler is configured': () => clear(operated),
    async 'a provider needs attention'() {
      await clear(operated)
      const stats = operated.db.collection<{ _id: object; [member: string]: unknown }>('tallies')
      await stats.deleteMany()
      const counted = { provider: 'acme', kind: 'delivery' }
      const ago = (ms: number): Date => new Date(Date.now() - ms)
      const gaps = { longestGapMs: HOUR_MS, gapsSince: ago(9 * DAY_MS) }
      await stats.insertMany([
        { _id: { ...counted, name: 'recorded' }, count: 9, lastAt: ago(DAY_MS), ...gaps },
        { _id: { ...counted, name: 'signature_invalid' }, count: 2, lastAt: ago(HOUR_MS) },
        { _id: { provider: 'acme', kind: 'secret', name: 'newer' }, count: 3, lastAt: ago(HOUR_MS) },
      ])
    },
    async 'a handler is paused'({ reason }: Reasoned) {
      await clear(operated)
      expect(await change(operated, 'handlers.pause', { handler: HANDLER, reason })).toBe(200)
    },
    async 'a removed handler has a dead task'({ handler }: { handler: string }) {
      await clear(operated)
      await store(operated, { handler, state: 'dead', reason: 'handler_refused' })
    },
    async 'a task of a removed handler waits in line'({ handler, id, earlier }: Identified & InLine) {
      await clear(operated)
      for (const [i, _id] of [earlier, id].entries()) {
        const place = { line: 'of one value', lineAt: new Timestamp({ t: 1, i: i + 1 }) }
        await store(operated, { _id: new ObjectId(_id), handler, state: 'pending', dueAt: IN_LINE_DUE_AT, ...place })
      }
      await operated.system.events.updateMany({ handler }, { $unset: { settledAt: 1 } })
    },
  }
}
