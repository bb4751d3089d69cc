import type { ErrorAnswer } from './answer.ts'

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

export type BodyChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

export interface BodyLimits {
  readonly maxBytes: number
  readonly bodyTimeoutMs: number
}

type ReadBody = Buffer | 'too_large' | 'crowded' | 'late' | 'broken'

/**
 * Reads a body within its limits into its part of the memory. The rest of a body that is too large or late, or that has
 * no room, is not read.
 */
async function readBody(chunks: BodyChunks, part: BodyPart, limits: BodyLimits): Promise<ReadBody> {
  const { maxBytes, bodyTimeoutMs } = limits
  const timeUp = new AbortController()
  const late = new Promise<'late'>((resolve) => {
    timeUp.signal.addEventListener('abort', () => resolve('late'))
  })
  const timer = setTimeout(() => timeUp.abort(), bodyTimeoutMs)
  try {
    return await Promise.race([collect(chunks, part, maxBytes), late])
  } finally {
    clearTimeout(timer)
  }
}

async function collect(chunks: BodyChunks, part: BodyPart, maxBytes: number): Promise<ReadBody> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.byteLength
      if (size > maxBytes) return 'too_large'
      if (!part.grow(chunk.byteLength)) return 'crowded'
      parts.push(chunk)
    }
  } catch {
    return 'broken'
  }
  return Buffer.concat(parts)
}

/** The part of one request in the memory for bodies. Once it is disposed of, it grows no more. */
export interface BodyPart extends Disposable {
  /** Takes this many bytes more. False if they would be too many. */
  grow(bytes: number): boolean
}

export type BodyMemory = ReturnType<typeof createBodyMemory>

/**
 * Creates a memory of this many bytes. Only bytes that have arrived count: a sender that announces a large body and sends
 * nothing takes no room from the others.
 */
export function createBodyMemory(mostBytes: number) {
  let used = 0
  return {
    open(): BodyPart {
      let own = 0
      let isOpen = true
      return {
        grow(bytes) {
          if (!isOpen || used + bytes > mostBytes) return false
          own += bytes
          used += bytes
          return true
        },
        [Symbol.dispose]() {
          isOpen = false
          used -= own
          own = 0
        },
      }
    },
  }
}
