import type { BodyPart } from './body-memory.ts'

/** The body of a request in pieces. */
export type BodyChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** The limits of a body. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly bodyTimeoutMs: number
}

/** A body, or the reason why there is none. */
export type ReadBody = Buffer | 'too_large' | 'crowded' | 'late' | 'broken'

/**
 * Reads a body within its limits into its part of the memory. The rest of a body that is too large or late, or that has
 * no room, is not read.
 */
export async function readBody(chunks: BodyChunks, part: BodyPart, limits: BodyLimits): Promise<ReadBody> {
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
