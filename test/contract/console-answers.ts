import { MatchersV3 } from '@pact-foundation/pact'
import { time } from './gateway-contract.ts'
import { HANDLER } from './operator-exchanges.ts'

const { boolean, eachLike, integer, like, number, regex, string } = MatchersV3

/** A number, or null. */
const numberOrNull = (example: number) => regex('^(?:null|[0-9.]+)$', example as never)
/** A text, or null. */
const textOrNull = (example: string) => regex('^(?:null|.*)', example)

/** The id of a page that there may be. */
export const anyNext = () => regex('^(?:null|[0-9a-f]{24})$', '6920000000000000000000bf')

/** A new id. */
export const anyId = () => regex('^[0-9a-f]{24}$', '6920000000000000000000be')

const COUNTED = { deliveries: integer(1), mismatches: integer(0), starts: integer(1) }

/** What the page reads of an event in a list that is dead because its order is unknown. */
export const deadEvent = (id: unknown, more: object = {}) => ({
  ...{
    id,
    provider: 'acme',
    eventId: string('evt_1'),
    handler: string('fulfilment'),
    type: string('of.no.effect'),
    orderId: string('ord_1'),
  },
  ...{ state: 'dead', reason: 'order_unknown', ...COUNTED, test: false, receivedAt: time(), settledAt: time() },
  ...more,
})

/** The same as a whole, with its task. */
export const wholeEvent = (id: unknown, task: object = {}) => ({
  ...{ id, provider: 'acme', eventId: string('evt_1'), type: string('of.no.effect'), orderId: string('ord_1') },
  ...{ deliveries: integer(1), mismatches: integer(0), test: false, receivedAt: time() },
  tasks: eachLike({ id, handler: string('fulfilment'), state: 'dead', reason: 'order_unknown', ...task }),
})

/** What it reads of this event besides on the event's own page. */
export const DETAILS = {
  ...{ objectId: string('pay_1'), headers: {}, raw: null, bytes: integer(2), notReadable: null, dueAt: null },
  ...{ secretId: string('newer'), attempts: [], lastError: null, outcome: null, closed: null, revivals: integer(0) },
  ...{ replays: [], requestId: string('request-1'), amount: null, currency: null },
}

/** What it reads of an order. */
export const orderWith = (status: 'pending' | 'paid') => ({
  ...{ id: string('ord_1'), version: integer(1), status, access: status === 'paid' ? 'unlocked' : 'locked' },
  ...{ amountDue: integer(1999), currency: string('EUR'), createdAt: time() },
  items: eachLike({ sku: string('sku_1'), quantity: integer(1), unitAmount: integer(1999) }),
})

/** What it reads of a finished replay in the list. */
export const LISTED_REPLAY = {
  ...{ state: 'finished', matched: 2, started: 2, done: 1, failed: 1, by: 'alice', reason: 'a replay' },
  startedAt: time(),
}

/** What it reads of a provider. */
export const PROVIDER = {
  ...{ name: string('acme'), scheme: string('stripe'), path: regex('^/api/webhooks/[a-z]+$', '/api/webhooks/acme') },
  ...{ takesTests: boolean(true), deliveries: {}, oldestUnsettledSeconds: numberOrNull(0) },
  secrets: eachLike({ id: string('newer'), notAfter: null, lastMatchedAt: null, matches: integer(0) }),
}

/** What it reads of the health of a provider that needs attention, and of one that is new. */
export const HEALTH = {
  providers: [
    { name: 'acme', silentSince: time(), usualGapSeconds: 3_600, secretsEnding: [{ id: 'older', notAfter: time() }] },
    { name: 'shop', silentSince: null, usualGapSeconds: null, secretsEnding: [] },
  ],
}

const numbers = () => eachLike(numberOrNull(1))

/** What it reads of the minutes of a time in which everything was counted. */
export const MINUTES = {
  ...{ from: time(), stepSeconds: integer(60), received: numbers(), refused: numbers() },
  refusedBecause: eachLike({ reason: 'rate_limited', count: integer(2) }),
  ...{ within: eachLike(number(0.005)), p50: numbers(), p99: numbers(), ages: eachLike(integer(60)) },
  waiting: like([]),
  failed: eachLike({ reason: 'order_unknown', counts: eachLike(integer(1)) }),
}

const IN_ORDER = { orderBy: null, blockOnDead: false }
const NO_SETTINGS = {
  ...{ host: null, events: [], secrets: [], answers: null, concurrency: null, ratePerSecond: null },
  ...IN_ORDER,
}
const IDLE = { pausedBySetting: false, paused: null, pending: integer(0), dead: integer(0), oldestStoredAt: null }

/** What it reads of fulfilment in the list of handlers. */
export const BUILT_IN = { name: 'fulfilment', by: 'built in', ...NO_SETTINGS, ...IDLE }

/** What it reads of a handler that is removed and has a dead task. */
export const REMOVED = { ...BUILT_IN, name: 'search', by: 'removed', dead: 1 }

/** What it reads of a handler. */
export const BILLING = {
  ...{ name: HANDLER, by: 'https', host: string('127.0.0.1:8091'), events: eachLike({ types: eachLike('of.nobody') }) },
  ...{ secrets: [{ id: '1', notAfter: null }], answers: boolean(true), concurrency: integer(10), ratePerSecond: null },
  ...{ ...IN_ORDER, ...IDLE },
}

/** What it reads of a delivery that was refused because its signature is that of another secret. */
export const FORGED = {
  ...{ id: anyId(), at: time(), provider: 'shop', reason: 'signature_invalid', why: 'signature_mismatch', status: 401 },
  ...{ message: string('The signature does not match the body'), network: string('127.0.0.0/24'), bytes: integer(2) },
  ...{
    secretIds: ['only'],
    requestId: string('a-request'),
    signatureHeaders: [{ name: 'x-signature', isPresent: true }],
  },
  headers: eachLike({ name: string('content-type'), value: string('application/json') }),
  causes: eachLike({
    ...{ cause: string('other_secret'), proved: boolean(false), message: string('The secret is another one') },
    fix: string('Compare the secrets'),
  }),
}

/** What it reads of receipts that are parked. */
export const PARKED = eachLike({
  ...{ key: string('rcp_console'), orderId: string('ord_console'), amount: integer(1999), currency: string('EUR') },
  ...{ paidAt: time(), sentAt: null, state: regex('^parked$', 'parked'), attempts: integer(2) },
  lastError: { code: string('receipt_refused') },
})

/** What it reads of its own session in the list. */
export const SESSION = {
  ...{ id: regex('^[0-9a-f]{16}$', '5e55105e55105e55'), operator: string('alice'), isCurrent: true },
  ...{ openedAt: time(), usedAt: time(), endsAt: time() },
}

/** What it reads of the entries of the audit log. */
export const ENTRIES = eachLike({
  ...{ id: anyId(), at: time(), by: string('alice'), action: string('providers.pause'), details: like({}) },
  ...{ reason: textOrNull('an entry'), isInChain: boolean(true) },
})
