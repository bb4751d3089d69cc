import { DUPLICATE_KEY, type WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import type { Document } from 'mongodb'

interface Refusal {
  readonly index: number
  readonly code: number
  readonly keyPattern?: Document
}

/**
 * The same verdicts, except for tasks that an index without handlers refused: it found another task of their event. They
 * are `unknown`, because they are not stored. A process without handlers may create that index again by accident.
 */
export function ownDuplicates(reply: Document, verdicts: readonly WriteResult[]): WriteResult[] {
  const own = [...verdicts]
  for (const { index, code, keyPattern } of (reply.writeErrors ?? []) as Refusal[]) {
    if (code === DUPLICATE_KEY && keyPattern?.handler === undefined) own[index] = 'unknown'
  }
  return own
}
