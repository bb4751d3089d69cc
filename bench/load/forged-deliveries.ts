import { createHmac, randomBytes } from 'node:crypto'
import { requestHead, type SignedDelivery, writeRequest } from './signed-deliveries.ts'

/** Which forged deliveries to make. */
export interface ForgedBatch {
  readonly url: string
  readonly count: number
  /** The length of each body. */
  readonly bytes: number
  readonly scheme: ForgedScheme
}

/** The schemes that forgeries are made for. */
export type ForgedScheme = 'stripe' | 'twilio' | 'adyen'

const DIFFERENT = 32

/**
 * Makes deliveries that look right but were signed with a key that nobody knows. Only the full signature check over the
 * whole body detects them. 32 different ones repeat in turn, because `count` different ones would take gigabytes.
 */
export function forgeDeliveries({ url, count, bytes, scheme }: ForgedBatch, now: number): SignedDelivery[] {
  const forge = FORGERS[scheme]
  const forgeries = Array.from({ length: DIFFERENT }, (_, index) => {
    return { eventId: `evt_forged_${index}`, request: forge({ url: new URL(url), bytes, now }) }
  })
  return Array.from({ length: count }, (_, index) => forgeries[index % DIFFERENT]).filter((one) => one !== undefined)
}

interface Forgery {
  readonly url: URL
  readonly bytes: number
  readonly now: number
}

const FORGERS: Readonly<Record<ForgedScheme, (forgery: Forgery) => Buffer>> = {
  stripe({ url, bytes, now }) {
    const secret = `whsec_${randomBytes(24).toString('base64url')}`
    return writeRequest(requestHead(url), { body: padded('{"padding":"', '"}', bytes), secret, now })
  },
  /** A form with the maximum number of fields that is read. */
  twilio({ url, bytes }) {
    const fields = Array.from({ length: 199 }, (_, index) => `field${index}=${randomBytes(8).toString('hex')}&`)
    const body = padded(`${fields.join('')}last=`, '', bytes)
    const signature = createHmac('sha1', randomBytes(16)).update(body).digest('base64')
    const head = requestHead(url).replace(/content-type: .*/, 'content-type: application/x-www-form-urlencoded')
    return toRequest(`${head}x-twilio-signature: ${signature}\r\n`, body)
  },
  /** One item, nearly the maximum number of parts that is parsed, and a number that no double can represent. */
  adyen({ url, bytes }) {
    const item = {
      ...{
        pspReference: 'forged',
        merchantAccountCode: 'Acme',
        merchantReference: 'ord_1',
        eventCode: 'AUTHORISATION',
      },
      ...{ success: 'true', amount: { value: 100, currency: 'EUR' } },
      additionalData: { hmacSignature: randomBytes(32).toString('base64') },
    }
    const items = JSON.stringify([{ NotificationRequestItem: item }])
    const open = `{"notificationItems":${items},"parts":[9007199254740993${',{}'.repeat(4_500)}],"padding":"`
    return toRequest(requestHead(url), padded(open, '"}', bytes))
  },
}

function toRequest(head: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body])
}

/** Pads a body to exactly the given number of bytes. */
function padded(open: string, close: string, bytes: number): Buffer {
  const length = bytes - open.length - close.length
  const padding = randomBytes(Math.ceil(length / 2))
    .toString('hex')
    .slice(0, length)
  return Buffer.from(`${open}${padding}${close}`)
}
