import { types } from 'node:util'

/**
 * The bytes of a buffer or of a view on one, without a copy; null for any other value. It is not a matter of `instanceof`:
 * the bytes that a test runner or a sandbox hands over have other classes than ours.
 */
export function bytesOf(value: unknown): Buffer<ArrayBufferLike> | null {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return types.isAnyArrayBuffer(value) ? Buffer.from(value) : null
}
