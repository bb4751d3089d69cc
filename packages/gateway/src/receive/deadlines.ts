import { unavailable } from '@oncehook/kernel/http/error-codes'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { notChecked, notStored } from '../errors.ts'

/**
 * Waits until `endsAt`, a value of `performance.now()`.
 * @throws notStored after that
 */
export async function inTime<T>(promise: Promise<T>, endsAt: number): Promise<T> {
  const value = await withTimeout(promise, Math.max(0, endsAt - performance.now()))
  if (value === TIMED_OUT) throw notStored({ late: true })
  return value
}

/**
 * Waits for the check of a delivery.
 * @throws notChecked if it cannot be checked now: it is checked when it is delivered again
 */
export async function checkedInTime<T>(check: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(check, endsAt)
  } catch (error) {
    if (unavailable.is(error) || notStored.is(error)) throw notChecked(error.details, { cause: error })
    throw error
  }
}

/**
 * Waits for a provider's answer about an authentic delivery.
 * @throws notStored if the provider cannot be asked now: it is asked when the delivery arrives again
 */
export async function answeredInTime<T>(answer: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(answer, endsAt)
  } catch (error) {
    throw unavailable.is(error) ? notStored(error.details, { cause: error }) : error
  }
}
