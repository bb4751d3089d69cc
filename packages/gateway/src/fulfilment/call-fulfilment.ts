import type { AppError } from '@oncehook/kernel/http/errors'
import { formatEntityTag } from '@oncehook/kernel/http/preconditions'
import { toFulfilmentError } from './fulfilment-client.ts'

const RETRY_AFTER_SECONDS = '1'

/**
 * Waits for fulfilment's answer, and turns its errors into ours: a 412 has the current version, a 503 has Retry-After.
 * @throws AppError
 */
export async function callFulfilment<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (thrown) {
    const error = toFulfilmentError(thrown)
    throw error.with({ headers: headersFor(error) })
  }
}

function headersFor({ code, status, details }: AppError): Record<string, string> {
  if (status === 503 || code === 'idempotency_in_progress') return { 'Retry-After': RETRY_AFTER_SECONDS }
  const { version } = details
  return status === 412 && typeof version === 'number' ? { ETag: formatEntityTag(version) } : {}
}
