import type { Cause, Provider } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { linesOf, toPlain } from '../providers/observe.ts'
import type { Refusal, ShownHeader } from './refusals.ts'

/** A refused delivery, before it is answered. */
export interface RefusedDelivery {
  readonly provider: Pick<Provider, 'name' | 'secrets' | 'signedHeaders' | 'staticTokenHeader' | 'explain'>
  readonly address: string
  readonly requestId: string
  /** Names and values alternately. */
  readonly rawHeaders: readonly string[]
  /** The complete body; undefined if it was not read. */
  readonly rawBody: Buffer | undefined
  /** The target of the request. */
  readonly url: string | undefined
}

export interface RefusalAnswer {
  readonly code: string
  readonly status: number
  readonly message: string
  /** Why the delivery was not authentic, if that is known. */
  readonly why: string | null
}

/**
 * The record of a delivery that was refused at `now` (milliseconds). It contains no body, no signature, and no header that is not on the
 * allow-list.
 */
export function describeRefusal(refused: RefusedDelivery, answer: RefusalAnswer, now: number): Refusal {
  const { provider, requestId, rawHeaders, rawBody } = refused
  // Of several with one name, the first.
  const headers = new Map(linesOf(rawHeaders).toReversed())
  return {
    id: new ObjectId(),
    at: new Date(now),
    provider: provider.name,
    reason: answer.code,
    why: answer.why,
    status: answer.status,
    message: toPlain(answer.message, MOST_MESSAGE),
    network: networkOf(refused.address),
    bytes: rawBody?.length ?? announcedBytes(headers.get('content-length')),
    secretIds: wereCompared(answer, rawBody) ? liveSecretIds(provider, now) : [],
    causes: isAuthentic(answer, rawBody) ? [] : causesOf(refused, now),
    requestId,
    headers: shownHeaders(provider, headers),
    signatureHeaders: provider.signedHeaders.map((name) => ({ name, isPresent: headers.has(name) })),
  }
}

const MOST_MESSAGE = 300

/** The headers whose values are kept, with their maximum lengths. Headers with a signature or token are never kept. */
const SHOWN: readonly (readonly [name: string, length: number])[] = [
  ['content-type', 100],
  ['content-length', 20],
  ['content-encoding', 40],
  ['user-agent', 200],
]
/** Headers with the id of an event or of an attempt. Only a plain id is kept. */
const IDS = ['webhook-id', 'svix-id', 'x-github-delivery', 'x-gitlab-event-uuid', 'paypal-transmission-id']
const PLAIN_ID = /^[\w.:-]{1,64}$/

function shownHeaders(
  { signedHeaders, staticTokenHeader }: RefusedDelivery['provider'],
  headers: ReadonlyMap<string, string>,
): ShownHeader[] {
  const shown: ShownHeader[] = []
  for (const [name, length] of SHOWN) {
    const value = signedHeaders.includes(name) ? undefined : headers.get(name)
    if (value !== undefined) shown.push({ name, value: toPlain(value, length) })
  }
  for (const name of IDS) {
    const value = name === staticTokenHeader ? undefined : headers.get(name)
    if (value !== undefined && PLAIN_ID.test(value)) shown.push({ name, value })
  }
  return shown
}

function announcedBytes(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null
}

const NOT_COMPARED: ReadonlySet<string | null> = new Set([
  ...['header_missing', 'header_malformed', 'timestamp_outside_window', 'body_too_large'],
])
const COMPARED: ReadonlySet<string | null> = new Set(['signature_mismatch', 'object_unknown', 'transmission_reused'])

/** A limit may refuse a delivery before its signature is compared, or because the signature was wrong. */
function wereCompared({ code, why }: RefusalAnswer, rawBody: Buffer | undefined): boolean {
  if (rawBody === undefined) return false
  return code === 'rate_limited' ? COMPARED.has(why) : !NOT_COMPARED.has(why)
}

/** The message then says what is wrong. */
function isAuthentic({ code }: RefusalAnswer, rawBody: Buffer | undefined): boolean {
  return rawBody !== undefined && code !== 'signature_invalid' && code !== 'rate_limited'
}

function liveSecretIds({ secrets }: RefusedDelivery['provider'], now: number): string[] {
  return secrets.filter(({ notAfter }) => notAfter === null || now < notAfter).map(({ id }) => id)
}

const MOST_CAUSES = 6

/** The causes of a refusal that can be found without other systems, most likely first. No text contains a secret, a signature, or a part of the body. */
function causesOf({ provider, rawHeaders, rawBody, url = '' }: RefusedDelivery, now: number): Cause[] {
  const at = url.indexOf('?')
  const query = at === -1 ? '' : url.slice(at + 1)
  return provider.explain({ rawHeaders, rawBody, query }, now).slice(0, MOST_CAUSES)
}

/**
 * The network of a client address in the form of `clientAddress`: the /24 of an IPv4 address, the /48 of the first half
 * of an IPv6 address. Null for any other text.
 */
function networkOf(address: string): string | null {
  const dot = address.lastIndexOf('.')
  if (dot > 0) return `${address.slice(0, dot)}.0/24`
  const [first, second, third] = address.split(':')
  return third === undefined ? null : `${first}:${second}:${third}::/48`
}
