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
    return await Promise.race([collect(chunks, part, maxBytes), late, part.displaced])
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
  part.complete()
  return Buffer.concat(parts)
}

/** The part of one request in the memory for bodies. Once it is disposed of, it grows no more. */
export interface BodyPart extends Disposable {
  /** Takes this many bytes more. False if they would be too many. */
  grow(bytes: number): boolean
  /** Says that the body has arrived: it keeps its room until the part is disposed of. */
  complete(): void
  /** Resolves when a body that came later has taken the room. */
  readonly displaced: Promise<'crowded'>
}

interface Arriving {
  bytes: number
  giveUp: () => void
}

export type BodyMemory = ReturnType<typeof createBodyMemory>

/**
 * Creates a memory of this many bytes. Only bytes that have arrived count: a sender that announces a large body and sends
 * nothing takes no room from the others. If there is no room, the body that has been arriving for the longest time loses
 * its own: nobody keeps others out by sending slowly. None loses its room for one that would find too little all the same.
 */
export function createBodyMemory(mostBytes: number) {
  let used = 0
  /** The bodies that are arriving, in the order of their first bytes. */
  const arriving = new Set<Arriving>()
  const makeRoom = (bytes: number, own: Arriving): boolean => {
    const yielding: Arriving[] = []
    let free = mostBytes - used
    for (const first of arriving) {
      if (bytes <= free || first === own) break
      yielding.push(first)
      free += first.bytes
    }
    if (bytes > free) return false
    for (const { giveUp } of yielding) giveUp()
    return true
  }
  return {
    open(): BodyPart {
      const own: Arriving = { bytes: 0, giveUp: () => undefined }
      let isOpen = true
      const displaced = new Promise<'crowded'>((resolve) => {
        own.giveUp = () => {
          free()
          resolve('crowded')
        }
      })
      const free = (): void => {
        isOpen = false
        arriving.delete(own)
        used -= own.bytes
        own.bytes = 0
      }
      return {
        displaced,
        grow(bytes) {
          if (isOpen) arriving.add(own)
          if (!isOpen || !makeRoom(bytes, own)) return false
          own.bytes += bytes
          used += bytes
          return true
        },
        complete: () => void arriving.delete(own),
        [Symbol.dispose]: free,
      }
    },
  }
}
