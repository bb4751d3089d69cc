import { OVERHEAD_BYTES } from '../group-limits.ts'
import type { Evidence } from '../inbox.ts'
import type { Retention } from '../retention/retention.ts'
import type { RequeueLimits } from './requeue-dead.ts'

/** The evidence that a redelivery brings, as far as a record keeps it. */
export type BroughtEvidence = Pick<Evidence, 'rawBody' | 'query' | 'headers' | 'secretId' | 'requestId'>

/** A redelivery that may be of a task whose body was removed. */
interface Bringing {
  readonly provider: string
  readonly handler?: string | undefined
  readonly evidence?: BroughtEvidence | undefined
}

/** The room for evidence that waits until it is known whether a record needs it. */
export interface EvidenceRoom {
  /** Returns what is kept of a redelivery. Undefined if no record can need it, or the room is full. */
  keep(delivery: Bringing): BroughtEvidence | undefined
  /** Gives the place of what was kept to others. */
  release(evidence: BroughtEvidence | undefined): void
}

// Until it is written. Redeliveries beyond it are only counted: a dead task whose body is gone stays dead until its next one.
const MOST_BYTES = 8 * 1024 * 1024

/**
 * Creates the room. Only tasks of handlers need their body, and a dead one can lack it within the horizon only if bodies are
 * removed earlier. By default they are not, and nothing is kept.
 */
export function createEvidenceRoom({
  bodyRetentionMs,
  redeliveryMs,
}: Pick<Retention & RequeueLimits, 'bodyRetentionMs' | 'redeliveryMs'>): EvidenceRoom {
  // The tasks of one delivery share its body.
  const uses = new Map<Uint8Array, number>()
  let bytes = 0
  return {
    keep({ provider, handler, evidence }) {
      if (handler === undefined || evidence === undefined || redeliveryMs(provider) <= bodyRetentionMs) return undefined
      const { rawBody, query, headers, secretId, requestId } = evidence
      const used = uses.get(rawBody) ?? 0
      const size = OVERHEAD_BYTES + (used > 0 ? 0 : rawBody.length)
      // The largest body has room if it is alone. Then all tasks of its delivery have it.
      if (used === 0 && bytes > 0 && bytes + size > MOST_BYTES) return undefined
      uses.set(rawBody, used + 1)
      bytes += size
      return { rawBody, query, headers, secretId, requestId }
    },
    release(evidence) {
      if (evidence === undefined) return
      const { rawBody } = evidence
      const left = (uses.get(rawBody) ?? 0) - 1
      bytes -= OVERHEAD_BYTES + (left > 0 ? 0 : rawBody.length)
      if (left > 0) uses.set(rawBody, left)
      else uses.delete(rawBody)
    },
  }
}
