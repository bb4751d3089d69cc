import { sign, X509Certificate } from 'node:crypto'
import { readJson, writeJson } from '../json-body.ts'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting, SigningError, type SigningRequest } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'ONE_TIME_CHARGE', failed: 'DID_FAIL_TO_RENEW' }

/**
 * App Store Server Notifications, version 2 (developer.apple.com/documentation/appstoreservernotifications): a JWS, ES256, with its
 * chain of certificates in the header. The secret is the PEM private key with the certificates of the chain behind it; the setting
 * `bundleId` is required. The gateway needs the root in its setting `certificates`.
 */
export const appStore = jsonSigner(types, toBody, {
  needsPrivateKey: true,
  settings: ['bundleId'],
  mapping: mapToPayments(types, '/data/signedTransactionInfo/appAccountToken'),
  sign: () => [],
  seal: { seal, signedOffsets },
})

function toBody({ id, type, paymentId, orderId, occurredAt }: SchemeEvent): object {
  return {
    notificationType: type,
    notificationUUID: toUuid(id),
    version: '2.0',
    data: {
      environment: 'Production',
      signedTransactionInfo: {
        transactionId: paymentId,
        originalTransactionId: paymentId,
        productId: 'com.example.product',
        purchaseDate: occurredAt,
        quantity: 1,
        appAccountToken: orderId,
      },
    },
  }
}

function seal({ body, secret, now, settings }: SigningRequest): Uint8Array {
  const bundleId = readTextSetting(settings, 'bundleId')
  if (!bundleId) throw new SigningError('The setting bundleId is missing: a notification names its app')
  const { data, ...rest } = readJson(body) as { data?: object }
  const toJws = prepareJws(secret)
  const inner = Object.entries(data ?? {}).map(([name, value]) => [
    name,
    name.startsWith('signed') && typeof value === 'object' ? toJws({ ...value, bundleId, signedDate: now }) : value,
  ])
  const signedPayload = toJws({ ...rest, data: { ...Object.fromEntries(inner), bundleId }, signedDate: now })
  return writeJson({ signedPayload })
}

function prepareJws(secret: string): (payload: object) => string {
  const key = readPrivateKey(secret, 'ec')
  const x5c = (secret.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((pem) =>
    new X509Certificate(pem).raw.toString('base64'),
  )
  if (x5c.length === 0) throw new SigningError('The secret has no certificates behind its key')
  const header = encode({ alg: 'ES256', x5c })
  return (payload) => {
    const text = `${header}.${encode(payload)}`
    return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** A character of the signed payload; before it is signed, the last one of the id. */
function signedOffsets(body: Uint8Array): number[] {
  const text = Buffer.from(body).toString('latin1')
  const found = /"signedPayload":"[^.]+\.[^.]{40}/.exec(text) ?? /"notificationUUID":"[^"]+(?=")/.exec(text)
  return found === null ? [] : [found.index + found[0].length - 1]
}
