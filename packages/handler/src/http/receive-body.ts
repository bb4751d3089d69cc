import type { ErrorAnswer } from './answer.ts'
import type { BodyPart } from './body-memory.ts'
import { type BodyChunks, type BodyLimits, type ReadBody, readBody } from './read-body.ts'

/** Reads a body within its limits into its part of the memory. Returns what to answer if there is none. */
export async function receiveBody(
  chunks: BodyChunks,
  part: BodyPart,
  limits: BodyLimits,
): Promise<Buffer | ErrorAnswer> {
  const body = await readBody(chunks, part, limits)
  return typeof body === 'string' ? BODY_ERRORS[body] : body
}

const TOO_LARGE: ErrorAnswer = {
  ...{ status: 413, error: 'too_large', retry: 'never', headers: { connection: 'close' } },
  message: 'The body is too large',
}
const BODY_ERRORS: Readonly<Record<Exclude<ReadBody, Buffer>, ErrorAnswer>> = {
  too_large: TOO_LARGE,
  crowded: {
    ...{ status: 503, error: 'overloaded', retry: 'later', retryAfter: 1, headers: { connection: 'close' } },
    message: 'Too many bodies are being received',
  },
  late: {
    ...{ status: 408, error: 'late_body', retry: 'later', headers: { connection: 'close' } },
    message: 'The body did not arrive in time',
  },
  broken: {
    ...{ status: 400, error: 'broken_body', retry: 'later', headers: { connection: 'close' } },
    message: 'The body ended early',
  },
}

/** Why a request is refused by its method and headers. Null if its body may be read. */
export function refuseHeaders(method: string, headers: Headers, maxBytes: number): ErrorAnswer | null {
  if (method !== 'POST') {
    const allow = { allow: 'POST' }
    return { status: 405, error: 'not_a_post', message: 'Only POST is allowed', retry: 'never', headers: allow }
  }
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (!/^application\/(?:[\w.+-]+\+)?json$/.test(type) || coding !== 'identity') {
    return { status: 415, error: 'not_json', message: 'Only JSON without a content coding is accepted', retry: 'never' }
  }
  return Number(headers.get('content-length') ?? 0) > maxBytes ? TOO_LARGE : null
}
