import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyPayment, type PaymentFact, type PaymentState } from './transitions.ts'

const PENDING: PaymentState = { status: 'pending', access: 'locked', payment: null, paidBy: [] }

function fact(type: PaymentFact['type'], paymentId: string, at: number): PaymentFact {
  return { type, provider: 'acme', paymentId, at: new Date(at) }
}

function run(facts: readonly PaymentFact[]): { state: PaymentState; outcomes: string[] } {
  let state = PENDING
  const outcomes = facts.map((one) => {
    const { outcome, state: next } = applyPayment(state, one)
    state = next
    return outcome
  })
  return { state, outcomes }
}

const failures = fc.array(fc.tuple(fc.constantFrom('pay_1', 'pay_2', 'pay_3'), fc.nat(5)), { maxLength: 6 })
const shuffles = fc.array(fc.nat(), { minLength: 40, maxLength: 40 })

function shuffle<T>(items: readonly T[], seeds: readonly number[]): T[] {
  return items
    .map((item, index) => ({ item, rank: seeds[index] ?? 0 }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item)
}

describe('FP-16: applyPayment, whether a failure or a success comes first', () => {
  it('supersedes a failure that comes after the success', () => {
    const { state, outcomes } = run([fact('payment.succeeded', 'pay_1', 0), fact('payment.failed', 'pay_1', 1)])
    expect(outcomes).toEqual(['applied', 'superseded'])
    expect(state.status).toBe('paid')
  })

  it('keeps the payment applied first when a second one succeeds', () => {
    const { state, outcomes } = run([fact('payment.succeeded', 'pay_1', 5), fact('payment.succeeded', 'pay_2', 0)])
    expect(outcomes).toEqual(['applied', 'already_paid'])
    expect(state.payment?.id).toBe('pay_1')
  })

  it('does not let a payment pay an order created again under the same id', () => {
    const anew: PaymentState = { ...PENDING, paidBy: [{ provider: 'acme', id: 'pay_1' }] }
    expect(applyPayment(anew, fact('payment.succeeded', 'pay_1', 0))).toEqual({ outcome: 'already_paid', state: anew })
    expect(applyPayment(anew, fact('payment.failed', 'pay_1', 0))).toEqual({ outcome: 'superseded', state: anew })
  })

  it('ends in one state whatever the order of arrival and the repetitions', () => {
    fc.assert(
      fc.property(failures, fc.boolean(), fc.tuple(shuffles, shuffles), (failed, succeeds, [one, other]) => {
        const facts = [
          ...failed.map(([id, at]) => fact('payment.failed', id, at)),
          ...(succeeds ? [fact('payment.succeeded', 'pay_1', 3)] : []),
        ]
        const twice = [...facts, ...facts]
        const { state, outcomes } = run(shuffle(twice, one))
        expect(run(shuffle(twice, other)).state).toEqual(state)
        expect(run(facts).state).toEqual(state)
        expect(outcomes.filter((outcome) => outcome === 'already_paid')).toHaveLength(succeeds ? 1 : 0)
        const repeated = facts.map((one) => applyPayment(state, one))
        expect(repeated.filter((again) => again.outcome === 'applied' || again.state !== state)).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('is paid by exactly one of several payments, whatever the order of arrival', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(['pay_1', 'pay_2', 'pay_3'], { minLength: 1 }), (ids) => {
        const { state, outcomes } = run(ids.map((id) => fact('payment.succeeded', id, 0)))
        expect(state).toMatchObject({ status: 'paid', access: 'unlocked', payment: { id: ids[0] } })
        expect(outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(1)
      }),
    )
  })
})
