import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Claim } from '../inbox/claims/claim.ts'
import { WaitingClaims, type Way } from './waiting-claims.ts'

function claim(members: Partial<Claim> = {}): Claim {
  return {
    ...{
      _id: new ObjectId(),
      provider: 'acme',
      handler: 'fulfilment',
      fence: 1,
      lost: 0,
      failedCalls: 0,
      internalErrors: 0,
      failures: 0,
    },
    ...{ failedForMs: 0, orderUnknownForMs: 0, requestId: 'r' },
    event: { id: 'e', type: 'payment.succeeded', objectId: 'p', facts: { orderId: 'o' } },
    ...members,
  }
}

/** A list of claims with this number of each kind. */
function waitingWith(kinds: Partial<Record<Way, number>>, maxCrashes = 8): WaitingClaims {
  const waiting = new WaitingClaims(maxCrashes)
  const members: Record<Way, Partial<Claim>> = {
    ...{ new: {}, due: {}, few: { lost: 1 }, alone: { failedCalls: 2 }, exclusive: { lost: 2 } },
  }
  for (const [way, count] of Object.entries(kinds) as [Way, number][]) {
    for (let made = 0; made < count; made += 1) waiting.add(claim(members[way]), way === 'new')
  }
  return waiting
}

const wide = { limit: 100, lanes: 2, underWay: [] as Way[] }

describe('WaitingClaims', () => {
  it('lets memory and database take turns', () => {
    const waiting = waitingWith({ new: 30, due: 30 })
    const turns = Array.from({ length: 6 }, () => waiting.next({ ...wide, limit: 10 })?.way)
    expect(turns).toEqual(['new', 'due', 'new', 'due', 'new', 'due'])
    expect(waiting.next(wide)).toBeNull()
  })

  it.each([
    ['few' as const, 60, [25, 25, 10]],
    ['alone' as const, 2, [1, 1]],
    ['exclusive' as const, 2, [1, 1]],
  ])('sends those that travel %s in groups of their size', (way, count, sizes) => {
    const waiting = waitingWith({ [way]: count })
    expect(sizes.map(() => waiting.next(wide)?.claims.length)).toEqual(sizes)
  })

  it('keeps one extra slot for events that were near a failure', () => {
    const waiting = waitingWith({ new: 5, few: 30, alone: 3 })
    expect(waiting.next({ ...wide, underWay: ['new', 'due'] })?.way).toBe('few')
    expect(waiting.next({ ...wide, underWay: ['new', 'due', 'few'] })).toBeNull()
    expect(waiting.next({ ...wide, underWay: ['new', 'few'] })?.way).toBe('new')
  })

  it('sends an event alone that may kill the process, with nothing else in progress', () => {
    const waiting = waitingWith({ exclusive: 2, new: 300, alone: 1 })
    expect(waiting.next(wide)?.way).toBe('new')
    expect(waiting.next({ ...wide, underWay: ['new'] })?.way).toBe('alone')
    expect(waiting.next({ ...wide, underWay: ['new', 'alone'] }), 'waits for the others to end').toBeNull()
    expect(waiting.next(wide)).toMatchObject({ way: 'exclusive', claims: [{ lost: 2 }] })
    expect(waiting.next({ ...wide, underWay: ['exclusive'] })).toBeNull()
    expect(waiting.next(wide)?.way, 'the others have their turn').toBe('new')
  })

  it('waits for the batches of other dispatchers before it sends an event that may kill the process', () => {
    const waiting = waitingWith({ exclusive: 1 })
    let waits = 0
    const onWait = (): void => {
      waits += 1
    }
    expect(waiting.next({ ...wide, others: 'batches', onWait })).toBeNull()
    expect(waiting.nextProbe({ others: 'batches', onWait }), 'nor as a probe').toBeNull()
    expect(waits).toBe(2)
    expect(waiting.next({ ...wide, others: 'nothing', onWait })?.way).toBe('exclusive')
    expect(waits).toBe(2)
    expect(waitingWith({ alone: 1 }).next({ ...wide, others: 'batches' })?.way).toBe('alone')
  })

  it('has no group in between where two losses are the limit', () => {
    const waiting = new WaitingClaims(2)
    expect(waiting.add(claim({ lost: 1 }), false)).toBe('exclusive')
    expect(waiting.add(claim({ failedCalls: 1 }), false)).toBe('alone')
  })

  it('uses a suspect as a probe only if there is no other event', () => {
    const waiting = waitingWith({ exclusive: 1, alone: 1, due: 1 })
    expect(['due', 'alone', 'exclusive'].map(() => waiting.nextProbe()?.way)).toEqual(['due', 'alone', 'exclusive'])
    expect(waiting.nextProbe()).toBeNull()
  })

  it('gives everything out at the end', () => {
    const waiting = waitingWith({ new: 2, due: 2, few: 2, alone: 2, exclusive: 2 })
    expect(waiting.drain()).toHaveLength(10)
    expect(waiting.next(wide)).toBeNull()
  })
})
