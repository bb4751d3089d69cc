import { z } from 'zod'
import { type Delivery, headerLines, singleHeader } from './delivery.ts'
import { isEventText, readEvent, readStrictObject } from './read-event.ts'
import { type CheckSignature, defineScheme, type Finding } from './scheme.ts'
import { decodeBase64, findSigner, hmac, isWithinTolerance } from './signature.ts'

const shape = { shape: z.literal('standard').optional() }

/**
 * Standard Webhooks v1 (the specification at github.com/standard-webhooks/standard-webhooks), also under the `svix-`
 * header names: HMAC-SHA256 over id, timestamp and body, joined by full stops. The version is pinned: signatures of any
 * other version in the list are passed over.
 */
export const standardWebhooks = defineScheme('standard-webhooks', shape, {
  readKey(text) {
    if (/^wh(?:pk|sk)_/.test(text)) return { problem: 'is an asymmetric key, a whsec_ secret is needed' }
    return decodeBase64(text.replace(/^whsec_/, '')) ?? { problem: 'is not whsec_ and base64' }
  },
  signedHeaders: () =>
    ['webhook', 'svix'].flatMap((family) => ['id', 'timestamp', 'signature'].map((part) => `${family}-${part}`)),
  signsTime: () => true,
  prepare({ toleranceSeconds }, secrets): CheckSignature {
    return (delivery, now): Finding => {
      const signed = readHeaders(delivery)
      if (typeof signed === 'string') return { refused: signed }
      const { id, timestamp, signatures } = signed
      if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
      const macOf = (key: Parameters<typeof hmac>[1]): Buffer =>
        hmac('sha256', key, [`${id}.${timestamp}.`, delivery.rawBody])
      const secretId = findSigner(secrets, signatures, { now, macOf })
      return secretId === null ? { refused: 'signature_mismatch' } : { secretId, signedId: id }
    }
  },
  prepareReader(settings) {
    if (settings.shape === undefined) return ({ rawBody }) => [readEvent(readStrictObject(rawBody), settings)]
    return ({ rawBody, signedId }) => {
      const sentBody = readStrictObject(rawBody)
      const body = { ...sentBody, id: signedId, data: { object: sentBody.data } }
      return [readEvent(body, { ...settings, sentBody })]
    }
  },
})

interface SignedHeaders {
  readonly id: string
  readonly timestamp: string
  readonly signatures: readonly Buffer[]
}

function readHeaders({ rawHeaders }: Delivery): SignedHeaders | 'header_missing' | 'header_malformed' {
  const family = headerLines(rawHeaders, 'webhook-signature').length > 0 ? 'webhook' : 'svix'
  const id = singleHeader(rawHeaders, `${family}-id`)
  const timestamp = singleHeader(rawHeaders, `${family}-timestamp`)
  const list = singleHeader(rawHeaders, `${family}-signature`)
  if (!id || !timestamp || !list) return 'header_missing'
  // A full stop in the id would let one signature fit two splits of the signed text.
  if (id.includes('.') || !isEventText(id)) return 'header_malformed'
  const signatures = list
    .split(' ')
    .filter((item) => item.startsWith('v1,'))
    .map((item) => decodeBase64(item.slice('v1,'.length)))
    .filter((bytes) => bytes !== null)
  return { id, timestamp, signatures }
}
