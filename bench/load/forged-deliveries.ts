import { randomBytes } from 'node:crypto'
import { requestHead, type SignedDelivery, writeRequest } from './signed-deliveries.ts'

/** Which forgeries are to be made. */
export interface ForgedBatch {
  readonly url: string
  readonly count: number
  /** The length of each body. */
  readonly bytes: number
}

const DIFFERENT = 32

/**
 * Makes deliveries that look right and were signed with a key that nobody knows, so that only the whole computation
 * over the whole body tells. 32 different ones in turn: keeping them all would take gigabytes.
 */
export function forgeDeliveries({ url, count, bytes }: ForgedBatch, now: number): SignedDelivery[] {
  const head = requestHead(new URL(url))
  const forgeries = Array.from({ length: DIFFERENT }, (_, index) => {
    const secret = `whsec_${randomBytes(24).toString('base64url')}`
    return { eventId: `evt_forged_${index}`, request: writeRequest(head, { body: writeBody(bytes), secret, now }) }
  })
  return Array.from({ length: count }, (_, index) => forgeries[index % DIFFERENT]).filter((one) => one !== undefined)
}

/** JSON of exactly so many bytes. */
function writeBody(bytes: number): Buffer {
  const [open, close] = ['{"padding":"', '"}']
  const length = bytes - open.length - close.length
  const padding = randomBytes(Math.ceil(length / 2))
    .toString('hex')
    .slice(0, length)
  return Buffer.from(`${open}${padding}${close}`)
}
