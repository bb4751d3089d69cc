import { invalidRequest, unavailable } from '@oncehook/kernel/http/error-codes'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Claim } from '../inbox/claims/claim.ts'
import { createFakeFulfilment, failWith } from '../testing/fake-fulfilment.ts'
import { RecentAnswers } from './health/recent-answers.ts'
import { type ProcessDeps, processBatch } from './process-batch.ts'

const limits = {
  ...{ baseMs: 1_000, capMs: 10_000, maxAgeMs: 1_000_000, orderUnknownMs: 100_000 },
  ...{ maxInternalErrors: 8, internalMs: 100_000 },
}

function claim(id: string, event: Partial<WebhookEvent> = {}, members: Partial<Claim> = {}): Claim {
  return {
    ...{
      _id: new ObjectId(),
      provider: 'acme',
      handler: 'fulfilment',
      fence: 1,
      lost: 0,
      failedCalls: 0,
      internalErrors: 0,
      requestId: 'r',
    },
    ...{ failures: 0, failedForMs: 0, orderUnknownForMs: 0 },
    event: { id, type: 'payment.succeeded', objectId: `pay of ${id}`, facts: { orderId: `order of ${id}` }, ...event },
    ...members,
  }
}

function open(orders: string[]): ProcessDeps & { fake: ReturnType<typeof createFakeFulfilment> } {
  const fake = createFakeFulfilment(orders.map((id) => [`order of ${id}`, 1]))
  return { fake, fulfilment: fake.procedures, limits, random: () => 0.5, recent: new RecentAnswers(() => 0) }
}

describe('processBatch', () => {
  it('gives each claim the outcome of its event', async () => {
    const deps = open(['a', 'c'])
    const claims = [claim('a'), claim('b'), claim('c', { type: 'payment.failed' })]
    const { settled, asked, failure } = await processBatch(deps, claims)
    expect(failure).toBeNull()
    expect(asked).toBe(true)
    expect(settled).toEqual([
      {
        claim: claims[0],
        settlement: { state: 'done', outcome: { kind: 'applied', version: 2 } },
        attempt: { ms: expect.any(Number), outcome: 'applied', code: null, message: null },
      },
      {
        claim: claims[1],
        settlement: { state: 'pending', delayMs: 500 },
        attempt: { ms: expect.any(Number), outcome: 'deferred', code: 'order_unknown', message: expect.any(String) },
      },
      expect.objectContaining({ claim: claims[2], settlement: expect.objectContaining({ state: 'done' }) }),
    ])
  })

  it('asks for no versions while calls are answered, but for a minute after one failed', async () => {
    let now = 0
    const deps = { ...open(['a', 'b', 'c']), recent: new RecentAnswers(() => now) }
    const { fake } = deps
    const readsOf = async (id: string, members: Partial<Claim> = {}): Promise<number> => {
      const before = fake.reads()
      const { settled } = await processBatch(deps, [claim(id, {}, members)])
      expect(settled.every(({ settlement }) => settlement.state === 'done')).toBe(true)
      return fake.reads() - before
    }
    expect(await readsOf('a')).toBe(1)
    expect(await readsOf('a')).toBe(0)
    expect(await readsOf('b', { failedCalls: 1 })).toBe(1)
    expect(await readsOf('b', { lost: 1 })).toBe(1)
    expect(await readsOf('b', { failures: 1 })).toBe(1)
    failWith(fake, unavailable())
    const { failure } = await processBatch(deps, [claim('c')])
    expect(failure).toMatchObject({ reached: true, died: false })
    failWith(fake, null)
    now = 100_000
    expect(await readsOf('c')).toBe(1)
    now += 59_999
    expect(await readsOf('c')).toBe(1)
    now += 1
    expect(await readsOf('c')).toBe(0)
  })

  it('asks for a version after a failed call, if it asked for none before: fulfilment may be unavailable', async () => {
    const deps = open(['a'])
    let isDown = false
    const { versions, applyEvents } = deps.fulfilment
    const fulfilment = {
      versions: (ids: string[]) => (isDown ? Promise.reject(unavailable()) : versions(ids)),
      applyEvents: (...args: Parameters<typeof applyEvents>) =>
        isDown ? Promise.reject(unavailable()) : applyEvents(...args),
    }
    await processBatch({ ...deps, fulfilment }, [claim('a')])
    isDown = true
    const { failure } = await processBatch({ ...deps, fulfilment }, [claim('a')])
    expect(failure).toMatchObject({ reached: false, died: false })
  })

  it('calls nobody for a test event, unless test events have effects', async () => {
    const deps = open(['a'])
    const claims = [claim('a', {}, { test: true })]
    const { settled, asked } = await processBatch(deps, claims)
    expect([asked, settled[0]?.settlement]).toEqual([false, { state: 'unhandled', reason: 'test' }])
    const applied = await processBatch({ ...deps, appliesTests: true }, claims)
    expect(applied.settled).toMatchObject([{ claim: { test: true }, settlement: { state: 'done' } }])
  })

  it('passes on what the event says, and nothing instead of an unreadable amount', async () => {
    const deps = open(['a'])
    const received: unknown[] = []
    deps.fake.onCall = (commands) => void received.push(...commands)
    const facts = { orderId: 'order of a', amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' }
    await processBatch(deps, [claim('a', { facts })])
    expect(received).toEqual([
      {
        ...{ provider: 'acme', eventId: 'a', type: 'payment.succeeded', paymentId: 'pay of a' },
        ...{ ...facts, ifMatch: '"1"' },
      },
    ])
  })

  it('passes on no unknown properties of a record from another release', async () => {
    const deps = open(['a'])
    const received: object[] = []
    deps.fake.onCall = (commands) => void received.push(...commands)
    const facts = { orderId: 'order of a', fee: 12, payer: { name: 'x' } }
    const { settled } = await processBatch(deps, [claim('a', { facts })])
    expect(Object.keys(received[0] ?? {}).toSorted()).toEqual([
      'eventId',
      'ifMatch',
      'occurredAt',
      'orderId',
      'paymentId',
      'provider',
      'type',
    ])
    expect(settled).toMatchObject([{ settlement: { state: 'done' } }])
  })

  it('uses the time of receipt, the same at every attempt, if an event has no time', async () => {
    const deps = open(['a'])
    const received: { occurredAt?: string }[] = []
    deps.fake.onCall = (commands) => void received.push(...commands)
    const _id = ObjectId.createFromTime(1_700_000_000)
    await processBatch(deps, [claim('a', {}, { _id })])
    await processBatch(deps, [claim('a', {}, { _id })])
    expect(received.map(({ occurredAt }) => occurredAt)).toEqual(Array(2).fill('2023-11-14T22:13:20.000Z'))
  })

  it('passes on an event of a record whose id is text, and so contains no time', async () => {
    const deps = open(['a', 'b'])
    const imported = claim('a', {}, { _id: '6741ac0fb7c9a2d1e8f00001' as never })
    const { settled } = await processBatch(deps, [imported, claim('b')])
    expect(settled.map(({ settlement }) => settlement.state)).toEqual(['done', 'done'])
  })

  it('defers an event that fulfilment cannot read while it can read no other', async () => {
    const deps = open(['a'])
    failWith(deps.fake, invalidRequest())
    const { failure } = await processBatch(deps, [claim('a')])
    expect(failure).toMatchObject({ error: { code: 'contract_mismatch' }, reached: false })
    expect(failure?.putOff).toMatchObject([
      { settlement: { state: 'pending' }, attempt: { code: 'contract_mismatch' } },
    ])
  })

  describe('where fulfilment cannot read one event', () => {
    const OVER = limits.internalMs

    /** Fulfilment has read no event of one call. By default, it has read another call since. */
    async function afterMismatch({ hasReadSince = true } = {}) {
      const deps = open(['a', 'b'])
      deps.fake.onCall = (commands) => {
        if (commands.some(({ eventId }) => eventId !== 'b')) throw invalidRequest()
      }
      await processBatch(deps, [claim('a')])
      if (hasReadSince) await processBatch(deps, [claim('b')])
      return deps
    }

    it('counts the next try against it alone, once others have been read', async () => {
      const { settled, asked, failure } = await processBatch(await afterMismatch(), [claim('a', {}, { failures: 1 })])
      expect({ asked, failure }).toEqual({ asked: true, failure: null })
      expect(settled).toMatchObject([
        {
          settlement: { state: 'pending', internalErrors: 1 },
          attempt: { outcome: 'deferred', code: 'invalid_request' },
        },
      ])
    })

    it('ends it after as many attempts as other faults, with the refusal as the reason', async () => {
      const retry = claim('a', {}, { failures: 9, internalErrors: 7, failedForMs: OVER })
      const { settled } = await processBatch(await afterMismatch(), [retry])
      expect(settled).toMatchObject([{ settlement: { state: 'dead', reason: 'invalid_request' } }])
    })

    it('ends it no sooner, for in a rolling upgrade another fulfilment may read it', async () => {
      const retry = claim('a', {}, { failures: 9, internalErrors: 7, failedForMs: OVER - 1 })
      const { settled } = await processBatch(await afterMismatch(), [retry])
      expect(settled).toMatchObject([{ settlement: { state: 'pending', internalErrors: 8 } }])
    })

    it.each([
      ['nothing has been read since', { hasReadSince: false }, ['a']],
      ['it is the first try', {}, ['new']],
      ['others travel with it and cannot be read either', {}, ['a', 'other']],
    ])('raises the alarm and counts nothing where %s', async (_, how, ids) => {
      const deps = await afterMismatch(how)
      const members = { internalErrors: 7, failedForMs: OVER }
      const claims = ids.map((id) => claim(id, {}, { ...members, failures: id === 'new' ? 0 : 9 }))
      const { failure } = await processBatch(deps, claims)
      expect(failure).toMatchObject({ error: { code: 'contract_mismatch' }, reached: false })
      for (const { settlement } of failure?.putOff ?? []) {
        expect(settlement).toMatchObject({ state: 'pending', internalErrors: 7 })
      }
      expect(failure?.putOff).toHaveLength(ids.length)
    })

    it('raises the alarm again unless others are read between two attempts', async () => {
      const deps = await afterMismatch()
      await processBatch(deps, [claim('a', {}, { failures: 1 })])
      const { failure } = await processBatch(deps, [claim('a', {}, { failures: 2, internalErrors: 1 })])
      expect(failure?.error.code).toBe('contract_mismatch')
    })
  })

  it.each(['amount_mismatch', 'currency_mismatch'] as const)(
    'buries an event whose facts are a %s without asking',
    async (unreadable) => {
      const deps = open(['a', 'b'])
      const claims = [claim('a', { facts: { orderId: 'order of a', unreadable } }), claim('b')]
      const { settled } = await processBatch(deps, claims)
      expect(settled.find((one) => one.claim === claims[0])).toMatchObject({
        settlement: { state: 'dead', reason: unreadable },
        attempt: { outcome: 'dead', code: unreadable },
      })
      expect(settled.find((one) => one.claim === claims[1])?.settlement.state).toBe('done')
      expect(deps.fake.calls).toEqual([['b']])
    },
  )

  it('reports when fulfilment did not have to be called', async () => {
    const deps = open([])
    const facts = { orderId: 'o', unreadable: 'amount_mismatch' } as const
    const { asked, failure } = await processBatch(deps, [claim('a', { facts }), claim('b', { type: 'x' })])
    expect({ asked, failure }).toEqual({ asked: false, failure: null })
    expect(deps.fake.reads()).toBe(0)
  })

  it('settles a type without a handler as unhandled', async () => {
    const { settled } = await processBatch(open([]), [claim('a', { type: 'customer.created' })])
    expect(settled).toMatchObject([{ settlement: { state: 'unhandled' }, attempt: { outcome: 'unhandled' } }])
  })

  it('defers everything and reports the failure when fulfilment does not answer', async () => {
    const deps = open(['a', 'b'])
    failWith(deps.fake, unavailable())
    const { settled, failure } = await processBatch(deps, [claim('a'), claim('b', {}, { failures: 2 })])
    expect(failure?.error.code).toBe('unavailable')
    expect(settled).toEqual([])
    expect(failure?.putOff.map(({ settlement }) => settlement)).toMatchObject([
      { state: 'pending', delayMs: 500 },
      { state: 'pending', delayMs: 2_000 },
    ])
  })

  it('treats an unexpected error as a failure too, and reveals nothing of it', async () => {
    const deps = open(['a'])
    deps.fake.onCall = () => {
      throw new TypeError('canary')
    }
    const { failure } = await processBatch(deps, [claim('a', {}, { internalErrors: 7 })])
    expect(failure?.error.code).toBe('internal')
    expect(JSON.stringify(failure?.putOff)).not.toContain('canary')
    expect(failure?.putOff).toMatchObject([{ settlement: { state: 'pending' }, attempt: { code: 'internal' } }])
  })

  it('marks an event as dead if fulfilment refuses it permanently, with the code as the reason', async () => {
    const deps = open(['a'])
    deps.fake.answer = () => ({ refused: 'payment_used_elsewhere', retry: 'never' })
    const { settled } = await processBatch(deps, [claim('a')])
    expect(settled).toMatchObject([
      { settlement: { state: 'dead', reason: 'payment_used_elsewhere' }, attempt: { code: 'payment_used_elsewhere' } },
    ])
  })

  it('marks an event as dead whose order has been unknown for too long', async () => {
    const orderUnknownForMs = limits.orderUnknownMs
    const { settled } = await processBatch(open([]), [claim('a', {}, { orderUnknownForMs })])
    expect(settled).toMatchObject([{ settlement: { state: 'dead', reason: 'order_unknown' } }])
  })

  it('does nothing for nothing', async () => {
    expect(await processBatch(open([]), [])).toEqual({ settled: [], asked: false, failure: null })
  })
})
