import type { Claim } from '@oncehook/queue/claim/claim'
import { sampleClaim as sampleTaskClaim } from '@oncehook/queue/testing/sample-task'
import type { Document } from 'mongodb'
import { FULFILMENT } from '../inbox/event-document.ts'

/** The first claim of an event that pays its own order. The given properties replace the usual ones, also of its record. */
export function sampleClaim(id: string, members: Partial<Claim> = {}, record: Document = {}): Claim {
  return sampleTaskClaim(id, {
    handler: FULFILMENT,
    record: {
      ...{ type: 'payment.succeeded', objectId: `pay of ${id}`, orderId: `order of ${id}`, facts: {}, requestId: 'r' },
      ...record,
    },
    ...members,
  })
}
