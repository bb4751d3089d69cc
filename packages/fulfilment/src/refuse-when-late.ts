import { unavailable } from '@oncehook/kernel/error-codes'

const LATE_MS = 9_000

/**
 * Waits for an answer at most 9 s, so that a request is answered within its 10. What goes on behind is safe to be
 * asked for again.
 * @throws unavailable when the answer is late
 */
export async function refuseWhenLate<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(unavailable({ reason: 'late' })), LATE_MS)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
