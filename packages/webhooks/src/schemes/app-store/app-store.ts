import { createSecretKey, X509Certificate } from 'node:crypto'
import { invalidBody } from '@oncehook/kernel/http/error-codes'
import { z } from 'zod'
import { eventReader } from '../../events/event-reader.ts'
import { isObject, type JsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { readUnproved } from '../../events/unproved-object.ts'
import type { Refusal } from '../../refusal.ts'
import { isIssuedBy, isValidAt } from '../../signatures/certificate-finder.ts'
import { isJwsSignedBy, type Jws, readJws, readJwsPart } from '../../signatures/jws.ts'
import { certificateProblems, leavesOf, pinnedCertificates } from '../../signatures/pinned-certificates.ts'
import { isLive } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { defineScheme } from '../scheme.ts'
import { APPLE_ROOT_CA_G3 } from './apple-root.ts'
import { hasExtension } from './certificate-extensions.ts'

const appleRoots = leavesOf([APPLE_ROOT_CA_G3])

/**
 * App Store Server Notifications, version 2 (developer.apple.com/documentation/appstoreservernotifications): the body is a JWS
 * (RFC 7515), ES256 only, with a chain of three certificates up to Apple's root, which is in this source; what Apple's own library
 * checks is checked here. Apple signs for every app, so the secret is the bundle id. The transaction and the renewal are further
 * JWS inside the signed text: the signature covers them. A retry has the id of the first attempt, and no time is checked.
 */
export const appStore = defineScheme(
  'app-store',
  { certificates: pinnedCertificates, sandbox: z.boolean().default(false) },
  {
    problemsOf: ({ certificates = [] }) => certificateProblems(certificates, 'ec'),
    secretIsPublic: true,
    // No less certain if it is short, so it is a key of another kind.
    readKey: (text) =>
      BUNDLE_ID.test(text) ? { key: createSecretKey(Buffer.from(text)) } : { problem: 'is not the id of a bundle' },
    signedHeaders: () => [],
    signsInBody: true,
    redelivery: {
      hours: 157,
      source:
        'developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications',
    },
    permits: {
      ...NO_PAYMENTS,
      expect: ({ sandbox }) => ({ '/data/environment': sandbox ? 'Sandbox' : 'Production' }),
    },
    signsTime: () => false,
    prepare({ certificates }, secrets) {
      const roots = certificates === undefined ? appleRoots : leavesOf(certificates)
      return ({ rawBody }, now) => {
        const sent = readSent(rawBody)
        if (typeof sent === 'string') return { refused: sent }
        const app = secrets.find((one) => isLive(one, now) && one.key.export().toString() === bundleIdOf(sent.payload))
        return app !== undefined && isSigned(sent, roots, now)
          ? { secretId: app.id }
          : { refused: 'signature_mismatch' }
      }
    },
    prepareReader: eventReader({}, ({ rawBody }) => {
      const document = decodeAll(payloadOf(rawBody))
      const at = (pointer: string): unknown => resolvePointer(document, pointer)
      return {
        found: {
          id: at('/notificationUUID'),
          type: at('/notificationType'),
          status: at('/subtype'),
          objectId:
            at('/data/signedTransactionInfo/transactionId') ?? at('/data/signedRenewalInfo/originalTransactionId'),
          orderId: at('/data/signedTransactionInfo/appAccountToken'),
          occurredAt: at('/signedDate'),
        },
        document,
      }
    }),
  },
)

const BUNDLE_ID = /^[A-Za-z0-9.-]{1,255}$/

interface Sent extends Jws {
  /** The leaf and its issuer; the root of the message is not looked at. */
  readonly chain: readonly [X509Certificate, X509Certificate]
}

// A notification takes 10 to 20 KiB.
const MOST_BYTES = 196_608

function readSent(rawBody: Buffer): Sent | Refusal {
  if (rawBody.length > MOST_BYTES) return 'body_too_large'
  const signedPayload = readUnproved(rawBody)?.signedPayload
  if (typeof signedPayload !== 'string') return 'header_missing'
  const jws = readJws(signedPayload)
  if (jws === null) return 'header_malformed'
  const chain = readChain(jws.header.x5c)
  if (chain === null) return 'header_malformed'
  return { ...jws, chain }
}

function readChain(x5c: unknown): Sent['chain'] | null {
  if (!Array.isArray(x5c) || x5c.length !== 3) return null
  const [leaf, issuer] = x5c.slice(0, 2).map(readCertificate)
  return leaf && issuer ? [leaf, issuer] : null
}

function readCertificate(text: unknown): X509Certificate | null {
  const der = typeof text === 'string' ? decodeBase64(text) : null
  try {
    return der === null ? null : new X509Certificate(der)
  } catch {
    return null
  }
}

/** The app that a notification is about. It names it in one of these objects. */
function bundleIdOf(payload: JsonObject): unknown {
  const places = ['data', 'appData', 'summary', 'externalPurchaseToken'].map((name) => payload[name])
  return places.find(isObject)?.bundleId
}

// Apple's marks: of certificates that sign for the App Store, and of the authority that issues them.
const SIGNS_FOR_APP_STORE = '1.2.840.113635.100.6.11.1'
const ISSUES_FOR_APPLE = '1.2.840.113635.100.6.2.1'
// As Apple's library allows.
const SKEW_MS = 60_000

function isSigned(sent: Sent, roots: readonly X509Certificate[], now: number) {
  const { chain, payload } = sent
  const [leaf, issuer] = chain
  const root = roots.find((one) => isIssuedBy(issuer, one))
  if (root === undefined || !isIssuedBy(leaf, issuer)) return false
  if (!hasExtension(leaf.raw, SIGNS_FOR_APP_STORE) || !hasExtension(issuer.raw, ISSUES_FOR_APPLE)) return false
  // Certificates end, and a notification stays true: it was signed while they were valid.
  const { signedDate } = payload
  const signedAt = typeof signedDate === 'number' ? signedDate : now
  if (![leaf, issuer, root].every((one) => isNearlyValidAt(one, signedAt))) return false
  return isJwsSignedBy(sent, leaf.publicKey)
}

function isNearlyValidAt(certificate: X509Certificate, at: number): boolean {
  return isValidAt(certificate, at) || isValidAt(certificate, at + SKEW_MS) || isValidAt(certificate, at - SKEW_MS)
}

/** The payload of an authentic notification. */
function payloadOf(rawBody: Buffer): JsonObject {
  const signedPayload = readUnproved(rawBody)?.signedPayload
  const payload = typeof signedPayload === 'string' ? readJwsPart(signedPayload.split('.')[1] ?? '') : null
  if (payload === null) throw invalidBody({ reason: 'not a notification' }, { message: 'The body is no notification' })
  return payload
}

/** The notification with the transaction and the renewal in it, read. */
function decodeAll(payload: JsonObject): JsonObject {
  const { data } = payload
  if (!isObject(data)) return payload
  const inner = Object.entries(data).map(([name, value]) => [
    name,
    name.startsWith('signed') ? decodeInner(value) : value,
  ])
  return { ...payload, data: Object.fromEntries(inner) as JsonObject }
}

function decodeInner(value: unknown): unknown {
  const [, payload = ''] = typeof value === 'string' ? value.split('.') : []
  return readJwsPart(payload) ?? value
}
