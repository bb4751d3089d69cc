import { type KeyObject, verify } from 'node:crypto'
import { invalidBody } from '@oncehook/kernel/http/error-codes'
import type { Delivery } from '../../delivery.ts'
import { eventReader } from '../../events/event-reader.ts'
import { type JsonObject, readJson, readJsonObject } from '../../events/json-object.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { readUnproved } from '../../events/unproved-object.ts'
import type { Refusal } from '../../refusal.ts'
import { createCertificateFinder, isValidAt } from '../../signatures/certificate-finder.ts'
import { certificateProblems, leavesOf, pinnedCertificates } from '../../signatures/pinned-certificates.ts'
import { isLive, type LiveSecret } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { type CheckResult, defineScheme } from '../scheme.ts'
import { createSubscriber, isSubscribeUrl, SNS_CERTIFICATES, snsHostOf } from './sns-hosts.ts'

const CONFIRMATION = 'SubscriptionConfirmation'

const OF_SUBSCRIPTIONS = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

/** What each type of message signs, in this order; a subject is signed if there is one. */
const SIGNED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  [CONFIRMATION]: OF_SUBSCRIPTIONS,
  UnsubscribeConfirmation: OF_SUBSCRIPTIONS,
}

// All providers of a process share the certificates that are kept.
const findKey = createCertificateFinder(SNS_CERTIFICATES)

/**
 * AWS SNS (docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html): RSA (PKCS #1 v1.5) with SHA-1 or SHA-256 over
 * the names and values of some members, in the body itself. Everybody's topics are signed with the same keys, so the secret is the
 * ARN of the topic: messages of other topics are refused before anything is fetched. Retries repeat the time of the message, so it
 * is not checked. A subscription of this topic is confirmed as soon as its message has proved to be authentic.
 */
export const sns = defineScheme(
  'sns',
  { certificates: pinnedCertificates },
  {
    problemsOf: ({ certificates = [] }) => certificateProblems(certificates),
    secretIsPublic: true,
    readKey: (text) => (ARN.test(text) ? Buffer.from(text) : { problem: 'is not the ARN of a topic' }),
    signedHeaders: () => [],
    signsInBody: true,
    fetchesKeys: ({ certificates }) => certificates === undefined,
    redelivery: { hours: 1, source: 'docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html' },
    permits: NO_PAYMENTS,
    signsTime: () => false,
    prepare({ certificates }, secrets) {
      const pinned = certificates && leavesOf(certificates)
      const subscribe = createSubscriber()
      return (delivery, now, fetch) => {
        const sent = readSent(delivery)
        if (typeof sent === 'string') return { refused: sent }
        const topic = secrets.find((secret) => isLive(secret, now) && arnOf(secret) === sent.topicArn)
        if (topic === undefined) return { refused: 'signature_mismatch' }
        const check = (keys: readonly KeyObject[]) => checkSent(sent, topic, keys)
        const { subscribeUrl } = sent
        const confirm = (result: CheckResult): CheckResult | Promise<CheckResult> =>
          'refused' in result || subscribeUrl === null || delivery.isStored || delivery.isInspected
            ? result
            : subscribe(subscribeUrl, fetch).then(() => result)
        if (pinned !== undefined) {
          return confirm(check(pinned.filter((one) => isValidAt(one, now)).map(({ publicKey }) => publicKey)))
        }
        return findKey(sent.url, { now, fetch, from: delivery.from, sandbox: false }).then((found) => {
          const tried = (): CheckResult => check(found === null ? [] : [found.key])
          const result = delivery.timed === undefined ? tried() : delivery.timed(tried)
          if ('secretId' in result) found?.proved()
          return confirm(result)
        })
      }
    },
    prepareHandshake:
      () =>
      ({ rawBody }) =>
        readJsonObject(rawBody).Type === CONFIRMATION ? { json: { confirmed: true } } : null,
    prepareReader: eventReader({}, ({ rawBody }) => {
      const document = readSigned(readJsonObject(rawBody))
      const { MessageId, Type, Timestamp } = document
      return { found: { id: MessageId, type: Type, objectId: undefined, occurredAt: Timestamp }, document }
    }),
  },
)

const ARN = /^arn:aws(?:-[a-z]+)*:sns:[a-z0-9-]{1,32}:\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?$/

function arnOf({ key }: LiveSecret): string {
  return key.export().toString()
}

interface Sent {
  readonly topicArn: string
  /** The address of the certificate. */
  readonly url: string
  readonly algorithm: 'sha1' | 'sha256'
  readonly signature: Buffer
  readonly text: string
  /** Null unless the message asks to confirm a subscription. */
  readonly subscribeUrl: string | null
}

function readSent({ rawBody }: Delivery): Sent | Refusal {
  if (rawBody.length > MOST_BYTES) return 'body_too_large'
  const body = readUnproved(rawBody)
  if (body === null) return 'header_missing'
  const { Type, TopicArn, SigningCertURL, SignatureVersion, Signature, SubscribeURL } = body
  if (![TopicArn, SigningCertURL, Signature].every((one) => typeof one === 'string')) return 'header_missing'
  const [topicArn, url, signed] = [TopicArn, SigningCertURL, Signature] as [string, string, string]
  const algorithm = ALGORITHMS.get(SignatureVersion)
  const signature = decodeBase64(signed)
  const text = signedText(body)
  if (algorithm === undefined || signature === null || text === null || snsHostOf(url) === null)
    return 'header_malformed'
  const asks = Type === CONFIRMATION
  if (asks && !isSubscribeUrl(SubscribeURL, topicArn)) return 'header_malformed'
  return { topicArn, url, algorithm, signature, text, subscribeUrl: asks ? String(SubscribeURL) : null }
}

const ALGORITHMS: ReadonlyMap<unknown, Sent['algorithm']> = new Map([
  ['1', 'sha1'],
  ['2', 'sha256'],
])

// A message has 256 KiB at most, and its JSON escapes few of them.
const MOST_BYTES = 786_432

/** The names and values that are signed; null if a value is missing or could be read as more than one. */
function signedText(body: JsonObject): string | null {
  const names = membersOf(body)
  const lines = names.map((name) => {
    const value = body[name]
    // Only the message comes before all names: line ends in another value could move the border between two.
    const isOne = typeof value === 'string' && value.isWellFormed() && (name === 'Message' || !value.includes('\n'))
    return isOne ? `${name}\n${value}\n` : null
  })
  return names.length === 0 || lines.includes(null) ? null : lines.join('')
}

function membersOf(body: JsonObject): readonly string[] {
  const { Type, Subject } = body
  const names = typeof Type === 'string' && Object.hasOwn(SIGNED_MEMBERS, Type) ? SIGNED_MEMBERS[Type] : undefined
  return (names ?? []).filter((name) => name !== 'Subject' || (Subject !== undefined && Subject !== null))
}

function checkSent({ text, algorithm, signature }: Sent, topic: LiveSecret, keys: readonly KeyObject[]): CheckResult {
  const bytes = Buffer.from(text)
  const isSigned = keys.some((key) => verify(algorithm, bytes, key, signature))
  return isSigned ? { secretId: topic.id } : { refused: 'signature_mismatch' }
}

/** The signed members only. A message that is JSON is read, so that the settings can point into it. */
function readSigned(body: JsonObject): JsonObject {
  const members = membersOf(body).map((name) => [name, name === 'Message' ? readMessage(body[name]) : body[name]])
  return Object.fromEntries(members) as JsonObject
}

function readMessage(message: unknown): unknown {
  if (typeof message !== 'string' || !/^\s*[{[]/.test(message)) return message
  try {
    return readJson(Buffer.from(message))
  } catch (error) {
    if (invalidBody.is(error)) return message
    throw error
  }
}
