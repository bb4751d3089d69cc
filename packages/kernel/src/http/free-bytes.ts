const WORTH_BYTES = 16_384

/**
 * Gives the memory of large bytes back at once; from then on they are empty, so nobody may need them any more. Left to
 * the collector of garbage, bodies of a flood make it run dozens of times a second. Bytes that share their memory with
 * others stay as they are.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < WORTH_BYTES || buffer.byteLength !== byteLength || !(buffer instanceof ArrayBuffer)) return
  buffer.transfer(0)
}
