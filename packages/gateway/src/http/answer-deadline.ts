import type { IncomingMessage } from 'node:http'
import { requestTimeout } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import { startOf } from '@oncehook/kernel/http/request-start'

const MOST_MS = 10_000
// What is left for the answer itself.
const RESERVE_MS = 500

/** How long a request may wait from its first octet on, in milliseconds; longer where its body may take longer. */
export function answerWithin(requestTimeoutMs: number): number {
  return Math.max(MOST_MS, requestTimeoutMs) - RESERVE_MS
}

/** The instant of `performance.now()` at which a request has to be answered, whatever it waits for. */
export function endOf(request: IncomingMessage, withinMs: number): number {
  return startOf(request) + withinMs
}

/** The refusal of a body that has not come by then. */
export function bodyTooLate(): AppError {
  return requestTimeout({}, { headers: { Connection: 'close' } })
}

/**
 * Reads a body that has to be whole by an instant of `performance.now()`.
 * @throws requestTimeout, payloadTooLarge, or badRequest when the sender broke off
 */
export async function readBodyBy(
  request: IncomingMessage,
  { maxBytes, endsAt }: { readonly maxBytes: number; readonly endsAt: number },
): Promise<Buffer> {
  let timer: NodeJS.Timeout | undefined
  const onReading = (end: (reason: Error) => void): void => {
    timer = setTimeout(() => end(bodyTooLate()), endsAt - performance.now())
  }
  try {
    return await readRawBody(request, maxBytes, { onBytes: () => undefined, onReading })
  } finally {
    clearTimeout(timer)
  }
}
