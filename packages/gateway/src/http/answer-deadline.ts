import type { IncomingMessage } from 'node:http'
import { requestTimeout } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'

/** The error for a body that has not arrived by then. */
export function bodyTooLate(): AppError {
  return requestTimeout({}, { headers: { Connection: 'close' } })
}

/**
 * Reads a body that must be complete when `performance.now()` reaches `endsAt`.
 * @throws requestTimeout, payloadTooLarge, or badRequest if the sender aborted
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
