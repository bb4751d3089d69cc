import { invalidRequest, unavailable } from '@oncehook/kernel/http/error-codes'
import type { Claim } from '@oncehook/queue/claim/claim'
import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { createFakeFulfilment, type FakeFulfilment, failWith } from '../../testing/fake-fulfilment.ts'
import { sampleClaim } from '../../testing/sample-claim.ts'
import { connectionReset } from '../../testing/start-dispatcher.ts'
import { type SendPaymentsDeps, sendPayments } from './send-payments.ts'

const limits = { baseMs: 1_000, capMs: 10_000, maxAgeMs: 1_000_000, ofCodes: new Map([['order_unknown', 100_000]]) }

function claim(id: string, record: Document = {}, members: Partial<Claim> = {}): Claim {
  return sampleClaim(id, members, record)
}

function open(orders: string[]): SendPaymentsDeps & { fake: FakeFulfilment } {
  const fake = createFakeFulfilment(orders.map((id) => [`order of ${id}`, 1]))
  return { fake, applyEvents: fake.applyEvents, limits, random: () => 0.5, databaseNow: () => 0 }
}

/** What becomes of an event that failed for the first time. */
function waits(code: string, delayMs: number): object {
  return { state: 'pending', delayMs, waited: delayMs, waitedFor: { code, ms: delayMs } }
}

describe('sendPayments', () => {
  it('gives each claim the outcome of its event', async () => {
    const deps = open(['a', 'c'])
    const claims = [claim('a'), claim('b'), claim('c', { type: 'payment.failed' })]
    const { settled, ...rest } = await sendPayments(deps, claims)
    expect(rest).toEqual({ hasVerdict: true, failure: null, late: [], unread: null })
    expect(settled).toEqual([
      {
        claim: claims[0],
        settlement: { state: 'done', outcome: { kind: 'applied', version: 2 } },
        attempt: { ms: expect.any(Number), outcome: 'applied', code: null, message: null },
      },
      {
        claim: claims[1],
        settlement: waits('order_unknown', 500),
        attempt: { ms: expect.any(Number), outcome: 'deferred', code: 'order_unknown', message: expect.any(String) },
      },
      expect.objectContaining({ claim: claims[2], settlement: expect.objectContaining({ state: 'done' }) }),
    ])
  })

  it('calls nobody for a test event, unless test events have effects', async () => {
    const deps = open(['a'])
    const claims = [claim('a', { test: true })]
    const { settled, hasVerdict } = await sendPayments(deps, claims)
    expect([hasVerdict, settled[0]?.settlement]).toEqual([false, { state: 'unhandled', reason: 'test' }])
    expect(deps.fake.calls).toEqual([])
    const applied = await sendPayments({ ...deps, appliesTests: true }, claims)
    expect(applied.settled).toMatchObject([{ claim: claims[0], settlement: { state: 'done' } }])
  })

  it('passes on what the event says, and nothing instead of an unreadable amount', async () => {
    const deps = open(['a'])
    const received: unknown[] = []
    deps.fake.onCall = (commands) => void received.push(...commands)
    const facts = { orderId: 'order of a', amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' }
    await sendPayments(deps, [claim('a', { facts })])
    expect(received).toEqual([
      {
        ...{ provider: 'acme', eventId: 'a', type: 'payment.succeeded', paymentId: 'pay of a' },
        ...{ ...facts, ifMatch: '*' },
      },
    ])
  })

  it('uses the time of receipt, the same at every attempt, if an event has no time', async () => {
    const deps = open(['a'])
    const received: { occurredAt?: string }[] = []
    deps.fake.onCall = (commands) => void received.push(...commands)
    const _id = ObjectId.createFromTime(1_700_000_000)
    await sendPayments(deps, [claim('a', {}, { _id })])
    await sendPayments(deps, [claim('a', {}, { _id })])
    expect(received.map(({ occurredAt }) => occurredAt)).toEqual(Array(2).fill('2023-11-14T22:13:20.000Z'))
  })

  describe('where fulfilment can read no event of a call', () => {
    const mismatch = (...claims: readonly Claim[]) => {
      const deps = open(['a', 'b'])
      failWith(deps.fake, invalidRequest())
      return sendPayments(deps, claims)
    }

    it.each([
      ['one event at its first try', [0]],
      ['several events, however often they were tried', [9, 9]],
    ])('raises the alarm and blames none: %s', async (_, tries) => {
      const { failure, settled } = await mismatch(...tries.map((failures, at) => claim(`${at}`, {}, { failures })))
      expect(failure).toMatchObject({ error: { code: 'contract_mismatch' } })
      expect(settled).toEqual([])
      const put = { settlement: { state: 'pending', broke: false }, attempt: { code: 'contract_mismatch' } }
      expect(failure?.putOff).toMatchObject(tries.map(() => put))
    })

    it('takes it for the fault of the event if it is alone and was tried before, and waits like any other', async () => {
      const { settled, ...rest } = await mismatch(claim('a', {}, { failures: 1 }))
      expect(rest).toEqual({ hasVerdict: true, failure: null, late: [], unread: null })
      const attempt = { outcome: 'deferred', code: 'invalid_request' }
      expect(settled).toMatchObject([{ settlement: waits('invalid_request', 1_000), attempt }])
    })

    it('ends it at the end of all waits, and no sooner: in a rolling upgrade another fulfilment may read it', async () => {
      const tried = { failures: 9, waited: limits.maxAgeMs }
      const { settled } = await mismatch(claim('a', {}, tried))
      expect(settled).toMatchObject([
        { settlement: { state: 'dead', reason: 'retries_exhausted' }, attempt: { code: 'invalid_request' } },
      ])
    })
  })

  it.each(['amount_mismatch', 'currency_mismatch'] as const)(
    'buries an event whose facts are a %s without asking',
    async (unreadable) => {
      const deps = open(['a', 'b'])
      const claims = [claim('a', { facts: { orderId: 'order of a', unreadable } }), claim('b')]
      const { settled } = await sendPayments(deps, claims)
      expect(settled.find((one) => one.claim === claims[0])).toMatchObject({
        settlement: { state: 'dead', reason: unreadable },
        attempt: { outcome: 'dead', code: unreadable },
      })
      expect(settled.find((one) => one.claim === claims[1])?.settlement.state).toBe('done')
      expect(deps.fake.calls).toEqual([['b']])
    },
  )

  it('FP-07: defers everything and reports the failure when fulfilment does not answer', async () => {
    const deps = open(['a', 'b'])
    failWith(deps.fake, unavailable())
    const { settled, failure } = await sendPayments(deps, [claim('a'), claim('b', {}, { failures: 2 })])
    expect(failure?.error.code).toBe('unavailable')
    expect(settled).toEqual([])
    expect(failure?.putOff.map(({ settlement }) => settlement)).toEqual([
      { ...waits('unavailable', 500), broke: false },
      { ...waits('unavailable', 2_000), broke: false },
    ])
  })

  it.each([
    ['one event', ['a']],
    ['several events', ['a', 'b']],
  ])('makes suspects of %s if the call breaks after it was sent: each may be the cause', async (_, ids) => {
    const deps = open(ids)
    failWith(deps.fake, connectionReset())
    const { settled, hasVerdict, failure } = await sendPayments(
      deps,
      ids.map((id) => claim(id)),
    )
    expect({ settled, hasVerdict }).toEqual({ settled: [], hasVerdict: false })
    expect(failure?.putOff).toMatchObject(ids.map(() => ({ settlement: { state: 'pending', broke: new Date(0) } })))
  })

  it('FP-36: blames nobody if fulfilment has an internal error with every order, but the event if with one only', async () => {
    const deps = open(['a', 'b'])
    deps.fake.answer = () => ({ refused: 'internal', retry: 'later' })
    const all = await sendPayments(deps, [claim('a'), claim('b')])
    expect(all).toMatchObject({ settled: [], hasVerdict: false, failure: { error: { code: 'internal' } } })
    expect(all.failure?.putOff).toMatchObject(Array(2).fill({ settlement: { state: 'pending', broke: false } }))
    deps.fake.answer = ({ eventId }) => (eventId === 'a' ? { refused: 'internal', retry: 'later' } : null)
    const one = await sendPayments(deps, [claim('a'), claim('b')])
    expect(one).toMatchObject({ hasVerdict: true, failure: null })
    expect(one.settled).toMatchObject([{ settlement: waits('internal', 500) }, { settlement: { state: 'done' } }])
  })

  it('marks an event as dead if fulfilment refuses it permanently, with the code as the reason', async () => {
    const deps = open(['a'])
    deps.fake.answer = () => ({ refused: 'payment_used_elsewhere', retry: 'never' })
    const { settled } = await sendPayments(deps, [claim('a')])
    expect(settled).toMatchObject([
      { settlement: { state: 'dead', reason: 'payment_used_elsewhere' }, attempt: { code: 'payment_used_elsewhere' } },
    ])
  })

  it('marks an event as dead whose order has been unknown for too long', async () => {
    const waitedFor = { code: 'order_unknown', ms: 100_000 }
    const { settled } = await sendPayments(open([]), [claim('a', {}, { waitedFor })])
    expect(settled).toMatchObject([{ settlement: { state: 'dead', reason: 'order_unknown' } }])
  })
})
