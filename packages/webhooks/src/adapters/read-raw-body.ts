/** The body of a request in pieces, as servers hand it over. */
export type BodyChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** After this many bytes beyond the limit the connection is cut. */
const MAX_DROPPED_BYTES = 8_388_608

/**
 * Reads a body of at most `maxBytes`; null if it is larger. The rest of a larger body is dropped as it comes in, so
 * that the sender can still read the answer; a much larger one is not read to its end.
 * @throws what the source throws, for example when the sender disconnects
 * @internal
 */
export async function readRawBody(chunks: BodyChunks, maxBytes: number): Promise<Buffer | null> {
  // One buffer that grows: a sender may cut a body into a million chunks.
  let kept = Buffer.alloc(0)
  let length = 0
  for await (const chunk of chunks) {
    const end = length + chunk.byteLength
    if (end <= maxBytes) {
      if (end > kept.length) kept = enlarge(kept, { length, atLeast: end, atMost: maxBytes })
      kept.set(chunk, length)
    } else kept = Buffer.alloc(0)
    length = end
    if (length > maxBytes + MAX_DROPPED_BYTES) break
  }
  return length > maxBytes ? null : kept.subarray(0, length)
}

interface Size {
  /** How many bytes are in use. */
  readonly length: number
  readonly atLeast: number
  readonly atMost: number
}

function enlarge(kept: Buffer, { length, atLeast, atMost }: Size): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(Math.min(atMost, Math.max(atLeast, 2 * kept.length, 16_384)))
  kept.copy(larger, 0, 0, length)
  return larger
}
