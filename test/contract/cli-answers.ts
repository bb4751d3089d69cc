import { MatchersV3 } from '@pact-foundation/pact'
import { time } from './gateway-contract.ts'
import { HANDLER } from './operator-exchanges.ts'

const { boolean, eachLike, integer, regex, string } = MatchersV3

/** The last entry of the audit log, as the command line reads it. */
export const ENTRY = { seq: integer(1), hash: regex(/^[0-9a-f]{64}$/, 'ab'.repeat(32)) }
/** What it reads of an event in a list that is dead because its order is unknown. */
export const shownEvent = (id: string) => ({
  ...{
    id,
    provider: 'acme',
    eventId: string('evt_1'),
    handler: string('fulfilment'),
    type: string('of.no.effect'),
    objectId: string('pay_1'),
  },
  ...{ orderId: string('ord_1'), state: 'dead', reason: 'order_unknown', starts: integer(1), deliveries: integer(1) },
  ...{ mismatches: integer(0), test: false, receivedAt: time(), dueAt: null, settledAt: time() },
})

/** What it reads of this event besides when it shows the event. */
export const DETAILS = {
  ...{ headers: {}, raw: null, bytes: integer(2), notReadable: null, secretId: string('newer'), attempts: [] },
  ...{ lastError: null, outcome: null, closed: null, revivals: integer(0), replays: [] },
}

/** What it reads of a provider. */
export const PROVIDER = {
  ...{ name: string('acme'), scheme: string('stripe'), path: regex('^/api/webhooks/[a-z]+$', '/api/webhooks/acme') },
  ...{ takesTests: boolean(true), deliveries: {}, oldestUnsettledSeconds: null },
  secrets: eachLike({ id: string('newer'), notAfter: null, lastMatchedAt: null, matches: integer(0) }),
}

const IN_ORDER = { orderBy: null, blockOnDead: false, oldestStoredAt: null }
/** What it reads of fulfilment in the list of handlers. */
export const BUILT_IN = {
  ...{ name: 'fulfilment', by: 'built in', host: null, secrets: [], answers: null, ...IN_ORDER },
  ...{ pausedBySetting: false, paused: null, pending: integer(0), dead: integer(0) },
}

/** What it reads of a handler. */
export const BILLING = {
  ...{ name: HANDLER, by: 'https', host: string('127.0.0.1:8091'), answers: boolean(true), ...IN_ORDER },
  ...{ secrets: [{ id: '1', notAfter: null }], pausedBySetting: false, paused: null },
  ...{ pending: integer(0), dead: integer(0) },
}
