import { setTimeout as sleep } from 'node:timers/promises'
import { createPaymentProvider, type Message } from '@oncehook/simulator/payment-provider'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, openConsumerContract } from './consumer-contract.ts'
import { eventOf, isPreset, MAX_BYTES, SENDERS, type WebhookSender } from './webhook-senders.ts'

const { like, reify, string } = MatchersV3
const JSON_TYPE = 'application/json; charset=utf-8'
const HOUR_MS = 3_600_000

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: object
}

/** A case: the provider's delivery, the state of the gateway before it, and the answer. */
interface Case {
  readonly id: string
  readonly does: string
  /** Default: the event is not known. */
  readonly state?: string
  /** The type of the event: a payment that succeeded, unless said otherwise. */
  readonly type?: (sender: WebhookSender) => string
  readonly change?: Readonly<Record<string, unknown>>
  /** Whether each object of the body has a property that nobody knows. */
  readonly hasMore?: boolean
  readonly path?: (sender: WebhookSender) => string
  readonly method?: string
  readonly mediaType?: string
  readonly skewMs?: number
  readonly isSigned?: boolean
  readonly only?: (sender: WebhookSender) => boolean
  /** Default: it is received. */
  readonly answer?: Answer
}

const RECEIVED: Answer = { status: 200, headers: { 'Content-Type': JSON_TYPE }, body: { received: true } }
const CHALLENGE = { 'WWW-Authenticate': 'Signature realm="webhooks"' }

function refused(status: number, code: string, headers: Record<string, string> = {}): Answer {
  const body = { error: string('A sentence'), code, requestId: like('a-request-id') }
  return { status, headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store', ...headers }, body }
}

const UNKNOWN = 'the event is not known'
const CASES: readonly Case[] = [
  { id: 'evt_new', does: 'delivers an event for the first time' },
  { id: 'evt_again', does: 'delivers an event again', state: 'the event was delivered before' },
  {
    id: 'evt_unhandled',
    does: 'delivers an event of a type that changes no order',
    type: ({ unhandled }) => unhandled,
  },
  { id: 'evt_more', does: 'delivers an event with properties that are not known', hasMore: true },
  {
    id: 'evt_forged',
    does: 'delivers a forged event',
    state: 'the sender has another secret',
    answer: refused(401, 'signature_invalid', CHALLENGE),
  },
  {
    id: 'evt_expired',
    does: 'delivers an event that was signed long ago',
    state: 'the sender signed an hour ago',
    skewMs: -HOUR_MS,
    only: ({ signsTime }) => signsTime,
    answer: refused(401, 'signature_invalid', CHALLENGE),
  },
  {
    id: 'evt_malformed',
    does: 'delivers a body that is no event',
    change: { data: null, sponsorship: null },
    only: isPreset,
  },
  {
    id: 'evt_other_shape',
    does: 'delivers a body that is not the agreed event',
    change: { data: null },
    only: (sender) => !isPreset(sender),
    answer: refused(400, 'event_invalid'),
  },
  {
    id: 'evt_large',
    does: 'delivers a body that is too large',
    change: { padding: 'x'.repeat(MAX_BYTES) },
    answer: refused(413, 'payload_too_large'),
  },
  {
    id: 'evt_text',
    does: 'delivers an event as plain text',
    mediaType: 'text/plain',
    only: isPreset,
  },
  {
    id: 'evt_text_as_agreed',
    does: 'delivers the agreed event as plain text',
    mediaType: 'text/plain',
    only: (sender) => !isPreset(sender),
    answer: refused(415, 'unsupported_media_type', { Accept: 'application/json' }),
  },
  {
    id: 'evt_failed',
    does: 'delivers an event about a payment that failed',
    type: () => 'payment.failed',
  },
  {
    id: 'evt_other_body',
    does: 'delivers an event again with another body',
    state: 'the event was delivered before',
    change: { added: 'later' },
    // GitHub names its deliveries, not its events: another body is another event.
    only: ({ name }) => name !== 'github',
  },
  {
    id: 'evt_rotated',
    does: 'delivers an event that the next secret signs',
    state: 'the sender uses its next secret',
  },
  {
    id: 'evt_unsigned',
    does: 'delivers an event without a signature',
    state: 'the sender signs nothing',
    isSigned: false,
    answer: refused(401, 'signature_invalid', CHALLENGE),
  },
  {
    id: 'evt_utf8',
    does: 'delivers an event and names its charset',
    mediaType: 'application/json; charset=utf-8',
  },
  {
    id: 'evt_vendor',
    does: 'delivers an event as a kind of JSON',
    mediaType: 'application/vnd.payments+json',
  },
  {
    id: 'evt_unstored',
    does: 'delivers an event that cannot be stored',
    state: 'the gateway cannot store events',
    answer: refused(500, 'not_stored'),
  },
  {
    id: 'evt_put',
    does: 'puts an event instead of posting it',
    method: 'PUT',
    answer: refused(405, 'method_not_allowed', { Allow: 'POST, OPTIONS' }),
  },
  {
    id: 'evt_nobody',
    does: 'delivers an event where nobody knows it',
    path: ({ name }) => `/api/webhooks/${name}-of-nobody`,
    answer: refused(404, 'not_found'),
  },
]

describe.each(SENDERS)('the provider $name', (sender) => {
  const contract = openConsumerContract(sender.name, 'gateway')
  compareAtTheEnd(contract)
  const cases = CASES.filter(({ only = () => true }) => only(sender))

  it.each(cases)('$does', async ({ id, does, state = UNKNOWN, answer = RECEIVED, ...sent }) => {
    const { method = 'POST', mediaType = 'application/json', skewMs = 0, isSigned = true } = sent
    const event = eventOf(id, sent.type?.(sender) ?? 'payment.succeeded')
    const message = changed({ eventId: id, body: sender.signer.writeEvent(event) }, sent)
    const path = sent.path?.(sender) ?? `/api/webhooks/${sender.name}`
    const text = Buffer.from(message.body).toString()
    const body = mediaType.includes('json') ? (JSON.parse(text) as Record<string, never>) : text
    const signature = isSigned ? sender.headers(event) : {}
    const headers = { 'Content-Type': mediaType, ...signature }
    const states = [{ description: state, parameters: { eventId: id, type: event.type } }]
    const request = { method, path, headers, body }
    await (await contract).expectExchange({ does, states, request, answer }, async (url) => {
      const { signer, secret, settings } = sender
      const now = Date.now()
      const asTold: typeof fetch = (input, init) => {
        const sent = new Headers(init?.headers)
        const official = sender.sign(Buffer.from(message.body).toString(), { id, now: now + skewMs, secret })
        const who = `The consumer ${sender.name} signs otherwise than its official library`
        if (isSigned) expect(Object.fromEntries(sent), who).toMatchObject(official)
        sent.set('content-type', mediaType)
        if (!isSigned) for (const name of Object.keys(sender.headers(event))) sent.delete(name)
        return fetch(input, { ...init, method, headers: sent })
      }
      const deps = { fetch: asTold, now: () => now, sleep: async (ms: number) => sleep(ms) }
      const provider = createPaymentProvider(deps, { url: `${url}${path}`, signer, secret, settings, skewMs })
      const report = await provider.deliver(message)
      expect(report).toMatchObject({ status: answer.status, failure: null })
      expect(JSON.parse(report.body)).toEqual(reify(answer.body as never))
    })
  })
})

/** The message with other properties in its body. */
function changed(message: Message, { change, hasMore = false }: Pick<Case, 'change' | 'hasMore'>): Message {
  if (change === undefined && !hasMore) return message
  const body = { ...(JSON.parse(Buffer.from(message.body).toString()) as object), ...change }
  const more = (_: string, value: unknown) =>
    hasMore && typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, later: '1' } : value
  return { ...message, body: Buffer.from(JSON.stringify(body, more)) }
}
