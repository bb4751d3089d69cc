import { shareCalls } from '@oncehook/kernel/rpc/share-calls'
import type { BodySource } from '../../inbox/bodies.ts'
import type { Claim } from '../../inbox/claims/claim.ts'
import { type ReadTask, readTogether } from './read-tasks.ts'

/** Reads the claimed tasks of one call. A claim whose record is gone is left out. */
type ReadClaims = (claims: readonly Claim[]) => AsyncIterable<ReadTask>

// No more bodies than the calls in progress hold anyway.
const SHARING = { most: 8, patienceMs: 500 }

/** Creates reads of single tasks that come at the same time and share one search. */
export function createSharedReads(source: BodySource, handler: string): ReadClaims {
  const read = shareCalls((claims: readonly Claim[]) => readTogether(source, handler, claims), SHARING)
  return async function* readShared(claims) {
    for (const task of await read(claims)) if (task !== null) yield task
  }
}
