import type { Document } from 'mongodb'
import { listOf, raised } from '../record-expressions.ts'
import { type AttemptResult, ORDER_UNKNOWN } from './claim.ts'
import { measureFailing } from './failing-time.ts'

const NEWEST_ATTEMPTS = 50

/** The fields of an attempt that ended with a result. The newest 50 attempts stay. */
export function attempted({ ms, outcome, code, message }: AttemptResult): Document {
  // Texts from outside are passed as literals. Otherwise a text that begins with $ would be read as a field path.
  const entry = { $literal: { ms, outcome, code, message } }
  const attempts = { $concatArrays: [listOf('attempts'), [{ $mergeObjects: [{ at: '$$NOW' }, entry] }]] }
  return { lost: 0, attempts: { $slice: [attempts, -NEWEST_ATTEMPTS] } }
}

/** The fields of an attempt that failed. `maxDelayMs`: the longest delay that is ever set for a record. */
export function failed({ outcome, code, message }: AttemptResult, maxDelayMs: number): Document {
  const { afterFailure, afterOrderUnknown } = measureFailing(maxDelayMs)
  const error = { $literal: { code: code ?? outcome, message: message ?? '' } }
  return {
    lastError: { $mergeObjects: [error, { at: '$$NOW' }] },
    failures: raised('failures'),
    ...(code === ORDER_UNKNOWN ? afterOrderUnknown : afterFailure),
  }
}
