/** The body of a request in pieces, as servers hand it over. */
export type BodyChunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** After this many bytes beyond the limit the connection is cut. */
const MAX_DROPPED_BYTES = 8_388_608

/**
 * Reads a body of at most `maxBytes`; null if it is larger. The rest of a larger body is dropped as it comes in, so
 * that the sender can still read the answer; a much larger one is not read to its end.
 * @throws what the source throws, for example when the sender disconnects
 */
export async function readRawBody(chunks: BodyChunks, maxBytes: number): Promise<Buffer | null> {
  const kept: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.byteLength
    if (length <= maxBytes) kept.push(chunk)
    else kept.length = 0
    if (length > maxBytes + MAX_DROPPED_BYTES) break
  }
  return length > maxBytes ? null : Buffer.concat(kept, length)
}
