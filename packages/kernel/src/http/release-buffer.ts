const WORTH_BYTES = 16_384

/**
 * Releases the memory of a large buffer at once. The buffer is empty afterwards, so nothing may use it any more.
 * Otherwise a flood of large bodies triggers garbage collection dozens of times per second. A buffer that shares its
 * memory is left alone.
 */
export function releaseBuffer({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < WORTH_BYTES || buffer.byteLength !== byteLength || !(buffer instanceof ArrayBuffer)) return
  buffer.transfer(0)
}
