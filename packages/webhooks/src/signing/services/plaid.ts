import { createHash, sign } from 'node:crypto'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting, SigningError, type SigningRequest, toSeconds } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'ASSETS.PRODUCT_READY', failed: 'ASSETS.ERROR' }

/**
 * Plaid (plaid.com/docs/api/webhooks/webhook-verification): a JWT, ES256, with the time and the SHA-256 of the body. The secret is the
 * PEM private key, and the setting `keyId` is required. The gateway needs the public key in its setting `keys`.
 */
export const plaid = jsonSigner(types, toBody, {
  needsPrivateKey: true,
  settings: ['keyId'],
  mapping: mapToPayments(types, '/asset_report_id'),
  sign: (request) => [['Plaid-Verification', signToken(request)]],
})

function toBody({ id, type, paymentId, orderId }: SchemeEvent): object {
  const end = type.lastIndexOf('.') === -1 ? type.length : type.lastIndexOf('.')
  return {
    webhook_type: type.slice(0, end),
    ...(end === type.length ? {} : { webhook_code: type.slice(end + 1) }),
    item_id: paymentId,
    asset_report_id: orderId,
    request_id: toUuid(id),
    environment: 'production',
  }
}

function signToken({ body, secret, now, settings }: SigningRequest): string {
  const kid = readTextSetting(settings, 'keyId')
  if (!kid) throw new SigningError('The setting keyId is missing: the token names its key')
  const claims = { iat: Number(toSeconds(now)), request_body_sha256: createHash('sha256').update(body).digest('hex') }
  const text = `${encode({ alg: 'ES256', kid, typ: 'JWT' })}.${encode(claims)}`
  const key = readPrivateKey(secret, 'ec')
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
