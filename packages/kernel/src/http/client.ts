import { unavailable } from './error-codes.ts'

/** @throws unavailable if it is larger than `maxBytes` */
export async function readCapped(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw unavailable({ reason: 'provider_answer_too_large' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])$/i

export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}
