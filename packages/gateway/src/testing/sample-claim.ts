import { ObjectId } from 'mongodb'
import type { Claim } from '../inbox/claims/claim.ts'
import { FULFILMENT } from '../inbox/event-document.ts'

/** The first claim of an event that pays its own order. The given properties replace the usual ones. */
export function sampleClaim(id: string, members: Partial<Claim> = {}): Claim {
  return {
    ...{ _id: new ObjectId(), provider: 'acme', handler: FULFILMENT, claim: `claim of ${id}`, endsAt: 30_000 },
    ...{ starts: 1, lost: 0, failures: 0, waited: 0, waitedFor: null, requestId: 'r' },
    event: { id, type: 'payment.succeeded', objectId: `pay of ${id}`, facts: { orderId: `order of ${id}` } },
    ...members,
  }
}
