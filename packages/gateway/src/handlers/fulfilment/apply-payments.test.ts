import { invalidRequest, payloadTooLarge, unavailable } from '@oncehook/kernel/http/error-codes'
import { describe, expect, it } from 'vitest'
import { createFakeFulfilment } from '../../testing/fake-fulfilment.ts'
import { type ApplyResult, applyPayments } from './apply-payments.ts'
import type { PaymentCommand } from './payment-command.ts'

function command(eventId: string, orderId = `order of ${eventId}`): PaymentCommand {
  return { provider: 'acme', eventId, type: 'payment.succeeded', paymentId: 'p', orderId }
}

function commands(count: number): PaymentCommand[] {
  return Array.from({ length: count }, (_, index) => command(`e${index}`))
}

function ordersOf(all: readonly PaymentCommand[]): [string, number][] {
  return all.map(({ orderId }) => [orderId, 1])
}

describe('applyPayments', () => {
  it('sends all events in one call, whatever the versions of their orders, and answers in the order of the commands', async () => {
    const all = commands(3)
    const fake = createFakeFulfilment([
      ['order of e0', 7],
      ['order of e2', 9],
    ])
    expect(await applyPayments(fake.applyEvents, all)).toEqual([
      { outcome: 'applied', version: 8 },
      { refused: 'order_unknown', retry: 'later' },
      { outcome: 'applied', version: 10 },
    ])
    expect(fake.calls).toEqual([['e0', 'e1', 'e2']])
  })

  it('does not send refused events again, whatever fulfilment says of another attempt', async () => {
    const fake = createFakeFulfilment(ordersOf(commands(3)))
    const refusals: ApplyResult[] = (['now', 'later', 'never'] as const).map((retry) => ({ refused: 'x', retry }))
    fake.answer = ({ eventId }) => refusals[Number(eventId.slice(1))] ?? null
    expect(await applyPayments(fake.applyEvents, commands(3))).toEqual(refusals)
    expect(fake.calls).toHaveLength(1)
  })

  it.each([
    ['read', invalidRequest()],
    ['take in', payloadTooLarge()],
  ])('isolates one event that fulfilment cannot %s, at the cost of a few calls', async (_, error) => {
    const all = commands(500)
    const fake = createFakeFulfilment(ordersOf(all))
    fake.onCall = (received) => {
      if (received.some(({ eventId }) => eventId === 'e321')) throw error
    }
    const results = await applyPayments(fake.applyEvents, all)
    expect(results[321]).toEqual({ refused: error.code, retry: 'never' })
    expect(results.filter((result) => 'outcome' in result && result.outcome === 'applied')).toHaveLength(499)
    expect(new Set(fake.applied).size).toBe(499)
    expect(fake.calls.length).toBeLessThanOrEqual(20)
  })

  it.each([1, 2, 500])('takes it for a mismatch of releases when none of %i events can be read', async (count) => {
    const fake = createFakeFulfilment(ordersOf(commands(count)))
    fake.onCall = () => {
      throw invalidRequest()
    }
    await expect(applyPayments(fake.applyEvents, commands(count))).rejects.toMatchObject({
      ...{ code: 'contract_mismatch', retry: 'later' },
      cause: expect.objectContaining({ code: 'invalid_request' }),
    })
    expect(fake.calls.length).toBeLessThanOrEqual(64)
  })

  it('refuses no readable event, and makes a bounded number of calls, when every second one cannot be read', async () => {
    const all = commands(500)
    const fake = createFakeFulfilment(ordersOf(all))
    const isBad = (eventId: string) => Number(eventId.slice(1)) % 2 === 0
    fake.onCall = (received) => {
      if (received.some(({ eventId }) => isBad(eventId))) throw invalidRequest()
    }
    const results = await applyPayments(fake.applyEvents, all)
    expect(fake.calls.length).toBeLessThanOrEqual(64)
    const verdicts = all.map(({ eventId }, index) => ({ isBad: isBad(eventId), ...results[index] }))
    const dead = verdicts.filter((verdict) => 'retry' in verdict && verdict.retry === 'never')
    expect(dead.length).toBeGreaterThan(5)
    expect(dead.filter((verdict) => !verdict.isBad)).toEqual([])
    expect(fake.applied.length).toBeGreaterThan(5)
    const later = verdicts.filter((verdict) => 'retry' in verdict && verdict.retry === 'later')
    expect(later).toHaveLength(500 - dead.length - fake.applied.length)
  })

  it.each([unavailable(), new TypeError('fetch failed')])(
    'throws %s, with nothing known of any event',
    async (error) => {
      const fake = createFakeFulfilment(ordersOf(commands(2)))
      fake.onCall = () => {
        throw error
      }
      await expect(applyPayments(fake.applyEvents, commands(2))).rejects.toBe(error)
      expect(fake.calls).toHaveLength(1)
    },
  )
})
