// The calls that the operator's page makes of the operator API, what it needs of each answer, and where it makes them.

import { MatchersV3 } from '@pact-foundation/pact'
import type { operator } from '../../packages/console/src/api/operator-client.ts'
import {
  EVENT_STATES,
  type EventSearch,
  toEventFilter,
  toEventQuery,
} from '../../packages/console/src/events/event-search.ts'
import * as answers from './console-answers.ts'
import { data, state, time } from './gateway-contract.ts'
import {
  authentic,
  dead,
  HANDLER,
  NOT_KEPT,
  type OperatorCall,
  OVERVIEW,
  overviewWith,
  READER,
  REPLAY,
  ROTATING,
  refusedPage,
  STRANGER,
  TRIED,
} from './operator-exchanges.ts'

const { eachLike, integer, like, regex, string } = MatchersV3

/** A call of the page, and the answer that it needs. */
export interface PageCall extends OperatorCall {
  /** The address at which the page makes the call. */
  readonly at?: string
  /** What makes the call, if somebody has to press a button. Default: the client of the page. */
  readonly act?: (client: typeof operator) => Promise<unknown>
  /** The code of the refusal that the page gets. Absent: the call succeeds. */
  readonly refused?: string
}

/** The id of the page's session. A provider test sets it to that of its gateway. */
export const SESSION = '5e55105e55105e55'

const ID = '6920000000000000000000b1'
const AUTHENTIC = '6920000000000000000000b2'
const HELD = '6920000000000000000000b3'
const OTHER = '6920000000000000000000b4'
const reason = 'the order was paid by hand'
const YEAR_2000 = '2000-01-01T00:00:00.000Z'
const [limit, withinMs] = [100, 150]

const EVERY_FILTER: EventSearch = {
  ...{ state: 'dead', provider: 'acme', type: 'of.no.effect', handler: 'fulfilment', reason: 'none', order: 'ord_1' },
  ...{ duplicates: 'any', tests: 'without', from: YEAR_2000, to: YEAR_2000 },
}
/** What removes the cookie of a session, whatever else it says. */
const COOKIE_REMOVED = regex(
  /^oncehook-session-\d+=; Path=\/operator\/; (?:.*; )?Max-Age=0(?:;.*)?$/,
  'oncehook-session-8081=; Path=/operator/; Max-Age=0',
)

/** The page reads nothing of these answers. */
const ACCEPTED = data({})
const held = state('an event is being processed', { id: HELD, orderId: 'ord_console_held' })
const finished = state('a replay is finished', { replayId: ID })
const paused = state('a provider was paused', { provider: 'shop', reason: 'an entry' })
const removed = state('a removed handler has a dead task', { handler: 'search' })
const orderOf = (orderId: string) => state('there is an order of a customer', { orderId, customerId: 'cus_console' })
const configured = { description: 'a handler is configured' }
const pausedHandler = state('a handler is paused', { reason: 'its service is being moved' })
const forged = { description: 'a forged delivery was refused' }
const uncounted = { description: 'deliveries were refused without a record' }
const counted = { description: 'a minute was counted' }
const ailing = { description: 'a provider needs attention' }
const tried = state('an event was tried, closed and replayed', { id: ID })
const pageOf = (items: readonly object[]) => data({ items, next: null, cut: null })
const RECEIPTS = eachLike({
  key: string('rcp_1'),
  state: 'parked',
  sentAt: null,
  paidAt: time(),
  lastError: { code: 'receipt_refused' },
})
const pausedBy = (why: unknown) => ({ since: time(), by: string('alice'), reason: why })

const FOUND = ['state=dead', 'tests=without', `from=${YEAR_2000}`]

/** Each filter in the address of the list, and what it becomes. Only those of `FOUND` select the dead event of the state. */
const FILTERS: readonly (readonly [filter: string, input: object])[] = [
  ...EVENT_STATES.map((one) => [`state=${one}`, { state: one }] as const),
  ...['repeated', 'changed', 'any'].map((kind) => [`duplicates=${kind}`, { duplicates: kind }] as const),
  ...[['tests=only', { test: true }] as const, ['tests=without', { test: false }] as const],
  ...['provider', 'type', 'handler', 'reason'].map((name) => [`${name}=nobody`, { [name]: 'nobody' }] as const),
  ['order=ord_none', { orderId: 'ord_none' }],
  ...['from', 'to'].map((name) => [`${name}=${YEAR_2000}`, { [name]: YEAR_2000 }] as const),
]

const QUERIES: readonly PageCall[] = [
  {
    ...{ does: 'asks who signs in', procedure: 'me', at: '/receipts' },
    answer: data({
      ...{ operator: string('alice'), session: string(SESSION) },
      roles: eachLike(regex('^(?:read|operate|bodies|orders)$', 'operate')),
    }),
  },
  {
    ...{ does: 'asks who signs in with a token that may only read', states: [READER], procedure: 'me' },
    ...{ answer: data({ operator: string('reader'), session: string(SESSION), roles: ['read'] }), at: '/receipts' },
  },
  {
    ...{ does: 'asks who signs in when the browser has two sessions', procedure: 'me', at: '/receipts' },
    states: [{ description: 'the browser has two cookies of a session' }],
    ...{ answer: refusedPage(409, 'session_ambiguous'), refused: 'session_ambiguous' },
  },
  {
    ...{ does: 'shows an overview', states: [dead('6920000000000000000000b0')], procedure: 'overview' },
    ...{ answer: OVERVIEW, at: '/' },
  },
  {
    ...{ does: 'shows which providers are paused', states: [paused], procedure: 'overview', at: '/' },
    answer: overviewWith({ pausedProviders: eachLike(string('shop')) }),
  },
  {
    ...{ does: 'shows which handlers are paused', states: [pausedHandler], procedure: 'overview', at: '/' },
    answer: overviewWith({ pausedHandlers: [HANDLER] }),
  },
  ...['hour', 'day', 'week'].map(
    (period): PageCall => ({
      ...{ does: `shows the minutes of the last ${period}`, states: [counted], procedure: 'minutes' },
      ...{ input: { period }, at: `/?period=${period}`, answer: data(answers.MINUTES) },
    }),
  ),
  ...FILTERS.map(
    ([filter, input]): PageCall => ({
      ...{ does: `lists events with ${filter}`, states: [dead(ID)], procedure: 'events.feed', at: `/events?${filter}` },
      ...{
        input: { ...input, withinMs, limit },
        answer: pageOf(FOUND.includes(filter) ? [answers.wholeEvent(ID)] : []),
      },
    }),
  ),
  {
    ...{ does: 'looks for an id', states: [dead(ID)], procedure: 'events.feed', answer: pageOf([]) },
    input: { state: 'dead', about: 'ord_none', limit },
    act: ({ events }) => events.feed.query({ ...toEventQuery({ state: 'dead', find: 'ord_none' }), limit }),
  },
  {
    ...{ does: 'looks for a text', states: [dead(ID)], procedure: 'events.feed', answer: pageOf([]) },
    input: { orderId: 'ord_1', text: 'nothing', limit },
    act: ({ events }) => events.feed.query({ ...toEventQuery({ order: 'ord_1', text: 'nothing' }), limit }),
  },
  {
    ...{ does: 'lists older events', states: [dead(ID)], procedure: 'events.feed' },
    ...{ input: { after: 'f'.repeat(24), limit }, answer: pageOf([answers.wholeEvent(ID)]) },
  },
  {
    ...{
      does: 'lists events when there are more',
      procedure: 'events.feed',
      at: '/events',
      input: { withinMs, limit },
    },
    states: [{ description: 'there are more events than a page has' }],
    answer: data({ items: eachLike(answers.wholeEvent(answers.anyId())), next: answers.anyId(), cut: null }),
  },
  {
    ...{ does: 'lists the tasks of a handler', states: [removed], procedure: 'events.feed' },
    ...{ input: { handler: 'search', withinMs, limit }, at: '/events?handler=search' },
    answer: pageOf([answers.wholeEvent(answers.anyId(), { reason: 'handler_refused', handler: 'search' })]),
  },
  {
    ...{ does: 'lists the tasks of an event', procedure: 'events.list', at: `/events/${ID}` },
    states: [state('an order has a dead event', { orderId: 'ord_console', eventId: 'evt_1' })],
    input: { provider: 'acme', eventId: 'evt_1', limit },
    answer: pageOf([answers.deadEvent(answers.anyId(), { eventId: 'evt_1', orderId: 'ord_console' })]),
  },
  {
    ...{ does: 'shows an event', states: [dead(ID)], procedure: 'events.get', input: { id: ID }, at: `/events/${ID}` },
    answer: data({ ...answers.deadEvent(ID), ...answers.DETAILS }),
  },
  {
    ...{ does: 'shows an event that was tried, closed and replayed', states: [tried], procedure: 'events.get' },
    ...{
      input: { id: ID },
      at: `/events/${ID}`,
      answer: data({ ...answers.deadEvent(ID), ...answers.DETAILS, ...TRIED, amount: 1999, currency: 'EUR' }),
    },
  },
  {
    ...{ does: 'shows a task that waits in line', procedure: 'events.get', input: { id: ID }, at: `/events/${ID}` },
    states: [state('a task of a removed handler waits in line', { handler: 'search', id: ID, earlier: HELD })],
    answer: data({
      ...answers.deadEvent(ID, { handler: 'search', state: 'pending', reason: null, settledAt: null }),
      ...{ ...answers.DETAILS, waitsFor: HELD, notSent: 'handler_removed' },
    }),
  },
  {
    ...{ does: 'shows an event that is not there', procedure: 'events.get', input: { id: OTHER } },
    ...{ at: `/events/${OTHER}`, answer: refusedPage(404, 'not_found'), refused: 'not_found' },
  },
  {
    ...{ does: 'shows an event with its body', states: [dead(ID)], procedure: 'events.get', at: `/events/${ID}` },
    ...{ input: { id: ID, body: true }, answer: data({ headers: {}, raw: 'e30=' }) },
  },
  {
    ...{ does: 'shows the order of an event', states: [state('a receipt is parked', { name: '1' })] },
    ...{ procedure: 'orders.get', input: { id: 'ord_1' }, answer: data(answers.orderWith('paid')) },
    at: `/events/${ID}`,
  },
  {
    ...{ does: 'shows an order that is not paid', states: [orderOf('ord_console_shown')], procedure: 'orders.get' },
    ...{ input: { id: 'ord_console_shown' }, answer: data(answers.orderWith('pending')) },
    act: ({ orders }) => orders.get.query({ id: 'ord_console_shown' }),
  },
  {
    ...{ does: 'looks for an order that is not there', procedure: 'orders.get', input: { id: 'ord_none' } },
    ...{ answer: refusedPage(404, 'order_not_found'), refused: 'order_not_found' },
    act: ({ orders }) => orders.get.query({ id: 'ord_none' }),
  },
  {
    ...{ does: 'verifies an event that is authentic', states: [authentic(AUTHENTIC)], procedure: 'events.reverify' },
    ...{ input: { id: AUTHENTIC }, answer: data({ valid: true, secretId: 'newer' }) },
  },
  {
    ...{ does: 'verifies an event that has no signature', states: [dead(ID)], procedure: 'events.reverify' },
    ...{ input: { id: ID }, answer: data({ valid: false, failure: 'header_missing' }) },
  },
  {
    ...{ does: 'asks which order a test event pays', procedure: 'events.testTarget' },
    ...{ answer: data({ applies: false, order: null }), act: ({ events }) => events.testTarget.query() },
  },
  {
    ...{ does: 'lists a replay', states: [finished], procedure: 'replays.list', input: { limit }, at: '/replays' },
    answer: data({ items: [{ replayId: ID, ...answers.LISTED_REPLAY }], next: null }),
  },
  {
    ...{ does: 'shows a replay', states: [finished], procedure: 'replays.get', input: { replayId: ID } },
    ...{ answer: data(REPLAY), at: `/replays/${ID}` },
  },
  {
    ...{ does: 'lists providers', procedure: 'providers.list', at: '/providers' },
    answer: data(eachLike({ ...answers.PROVIDER, paused: null })),
  },
  {
    ...{ does: 'lists providers, a secret of which ends', states: [ailing], procedure: 'providers.list' },
    ...{
      answer: data([
        { ...answers.PROVIDER, ...ROTATING },
        { ...answers.PROVIDER, name: 'shop', paused: null },
      ]),
      at: '/providers',
    },
  },
  {
    ...{ does: 'lists providers that are paused', states: [paused], procedure: 'providers.list', at: '/providers' },
    answer: data(eachLike({ ...answers.PROVIDER, paused: { ...pausedBy(string('an entry')), waiting: integer(0) } })),
  },
  {
    ...{ does: 'asks whether the settings of providers were refused', procedure: 'providers.refusedSettings' },
    ...{ answer: data({ problems: [] }), at: '/providers' },
  },
  {
    ...{ does: 'shows the health of providers', states: [ailing], procedure: 'providers.health' },
    ...{ answer: data(answers.HEALTH), at: '/' },
  },
  { does: 'lists handlers when there are none', procedure: 'handlers.list', answer: data([]), at: '/handlers' },
  {
    ...{ does: 'lists handlers, one of which is paused', procedure: 'handlers.list', states: [pausedHandler] },
    answer: data([answers.BUILT_IN, { ...answers.BILLING, paused: pausedBy('its service is being moved') }]),
    at: '/handlers',
  },
  {
    ...{ does: 'lists handlers, one of which was removed', states: [removed], procedure: 'handlers.list' },
    ...{ answer: data([answers.BUILT_IN, answers.BILLING, answers.REMOVED]), at: '/handlers' },
  },
  {
    ...{ does: 'lists a refused delivery', states: [forged], procedure: 'refusals.list', at: '/refused?provider=shop' },
    ...{ input: { provider: 'shop', limit }, answer: data({ items: [answers.FORGED], next: null, notKept: [] }) },
  },
  {
    ...{ does: 'lists refused deliveries with a reason', states: [forged], procedure: 'refusals.list' },
    ...{ input: { reason: 'invalid_body', limit }, answer: data({ items: [], next: null, notKept: [] }) },
    at: '/refused?reason=invalid_body',
  },
  {
    ...{ does: 'lists refused deliveries without a record', states: [uncounted], procedure: 'refusals.list' },
    ...{ input: { limit }, answer: data({ items: [], next: null, notKept: [NOT_KEPT] }), at: '/refused' },
  },
  {
    ...{ does: 'counts refused deliveries by reason', states: [forged], procedure: 'refusals.counts' },
    ...{ input: { provider: 'shop' }, answer: data([{ reason: 'signature_mismatch', records: 1 }]) },
    at: '/refused?provider=shop',
  },
  {
    ...{ does: 'counts all refused deliveries', procedure: 'refusals.counts', input: {} },
    ...{ answer: data([]), at: '/refused' },
  },
  ...['?state=owed', '?state=sending', '?state=sent', ''].map((filter): PageCall => {
    const [, one] = filter.split('=')
    return {
      ...{ does: `lists receipts: ${one ?? 'all'}`, procedure: 'receipts.list', at: `/receipts${filter}` },
      ...{ input: { ...(one && { state: one }), limit }, answer: data({ items: like([]), next: null }) },
    }
  }),
  {
    ...{ does: 'lists parked receipts', states: [state('a receipt is parked', { name: 'console' })] },
    ...{ procedure: 'receipts.list', input: { state: 'parked', limit }, at: '/receipts?state=parked' },
    answer: data({ items: answers.PARKED, next: null }),
  },
  {
    ...{ does: 'lists the receipts of an order', states: [state('a receipt is parked', { name: '1' })] },
    ...{ procedure: 'receipts.list', input: { orderId: 'ord_1', limit }, answer: data({ items: RECEIPTS }) },
    act: ({ receipts }) => receipts.list.query({ orderId: 'ord_1', limit }),
  },
  {
    ...{ does: 'lists the audit log', states: [paused], procedure: 'audit.list', input: { limit }, at: '/audit' },
    answer: data({ items: answers.ENTRIES, next: answers.anyNext() }),
  },
  {
    ...{ does: 'verifies the audit log', states: [paused], procedure: 'audit.verify', input: {}, at: '/audit' },
    answer: data({ ok: true, entries: integer(2), brokenAt: null, next: null }),
  },
  {
    ...{ does: 'verifies the rest of an audit log that is another one', states: [paused], procedure: 'audit.verify' },
    ...{ input: { after: { seq: 1, hash: '0'.repeat(64) } }, answer: data({ ok: false, brokenAt: null, next: null }) },
  },
  {
    ...{ does: 'lists the sessions', procedure: 'sessions.list', answer: data([answers.SESSION]), at: '/sessions' },
  },
  {
    ...{
      does: 'asks in a session that has ended',
      states: [STRANGER],
      procedure: 'overview',
      at: '/events?state=dead',
    },
    ...{ answer: refusedPage(401, 'unauthenticated'), refused: 'unauthenticated' },
  },
]

const CHANGES: readonly PageCall[] = [
  {
    ...{ does: 'signs out', procedure: 'signIn.end', input: {} },
    answer: { ...ACCEPTED, headers: { ...ACCEPTED.headers, 'Set-Cookie': COOKIE_REMOVED } },
  },
  {
    ...{ does: 'ends all sessions of an operator', procedure: 'sessions.end' },
    ...{ input: { operator: 'bob', reason }, answer: data({ ended: 0 }) },
  },
  {
    ...{ does: 'asks what a replay would concern', states: [dead(ID)], procedure: 'events.replay' },
    input: { ids: [ID], includeDone: false, dryRun: true, reason: 'dry run' },
    answer: data({ replayId: null, matched: 1 }),
  },
  {
    ...{ does: 'replays the dead events, slowly', states: [dead(ID)], procedure: 'events.replay' },
    input: { filter: { state: 'dead' }, includeDone: false, reason, ratePerSecond: 5 },
    answer: data({ replayId: answers.anyId(), matched: 1 }),
  },
  {
    ...{ does: 'asks what a replay with every filter would concern', states: [dead(ID)], procedure: 'events.replay' },
    input: { filter: toEventFilter(EVERY_FILTER), includeDone: true, dryRun: true, reason: 'dry run' },
    answer: data({ replayId: null, matched: 0 }),
  },
  {
    ...{
      does: 'counts the parked receipts',
      procedure: 'receipts.releaseAll',
      input: { reason: 'dry run', dryRun: true },
    },
    ...{
      states: [state('a receipt is parked', { name: 'counted' })],
      answer: data({ matched: integer(1), next: null }),
    },
  },
  {
    ...{ does: 'releases all parked receipts', procedure: 'receipts.releaseAll', input: { reason, after: null } },
    ...{ states: [state('a receipt is parked', { name: 'freed' })], answer: data({ next: null }) },
  },
  {
    ...{ does: 'corrects what an order costs', states: [orderOf('ord_console_wrong')], procedure: 'orders.correct' },
    input: {
      ...{ id: 'ord_console_wrong', version: 1, currency: 'USD', reason },
      items: [{ sku: 'book', quantity: 4, unitAmount: 150 }],
    },
    answer: data({ order: { version: 2 } }),
  },
  {
    ...{ does: 'sends a test event', procedure: 'events.sendTest' },
    input: { provider: 'acme', reason, orderId: 'ord_console_test' },
    answer: data({ id: answers.anyId(), eventId: string('test_1') }),
  },
  {
    ...{ does: 'pauses a provider with a token that may only read', states: [READER] },
    ...{ procedure: 'providers.pause', input: { provider: 'acme', reason }, answer: refusedPage(403, 'role_missing') },
    refused: 'role_missing',
  },
  {
    ...{ does: 'asks what a backfill would examine', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, filter: {}, dryRun: true, reason: 'dry run' },
    answer: data({ replayId: null, matched: 0 }),
  },
  {
    ...{ does: 'gives a handler the stored events', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, filter: { from: '2026-11-21T08:00:00.000Z' }, reason },
    answer: data({ replayId: answers.anyId() }),
  },
  {
    ...{ does: 'discards the tasks of a removed handler', states: [removed], procedure: 'handlers.discard' },
    ...{ input: { handler: 'search', reason }, answer: data({ discarded: 1, more: false, held: 0 }) },
  },
]

const nothing = { description: 'nothing in particular' }
const parked = state('a receipt is parked', { name: 'console_released' })

/** Changes of whose answer the page reads nothing, and those that the gateway refuses with a code that the page explains. */
const MORE_CHANGES = (
  [
    ['cancels a replay that is over', finished, 'replays.cancel', { replayId: ID }, null],
    ['closes a dead event', dead(ID), 'events.close', { id: ID, reason }, null],
    ['closes an event that is not dead', held, 'events.close', { id: HELD, reason }, 'event_not_dead'],
    ['releases an event', held, 'events.release', { id: HELD, reason }, null],
    ['releases an event that nobody holds', dead(ID), 'events.release', { id: ID, reason }, 'event_not_processing'],
    ['replays an event', dead(ID), 'events.replay', { ids: [ID], reason }, null],
    ['replays an event that is being processed', held, 'events.replay', { ids: [HELD], reason }, 'events_busy'],
    ['pauses a provider', nothing, 'providers.pause', { provider: 'shop', reason }, null],
    ['pauses a provider again', paused, 'providers.pause', { provider: 'shop', reason }, 'provider_paused'],
    ['resumes a provider', paused, 'providers.resume', { provider: 'shop', reason }, null],
    ['resumes a provider again', nothing, 'providers.resume', { provider: 'shop', reason }, 'provider_not_paused'],
    ['pauses a handler', configured, 'handlers.pause', { handler: HANDLER, reason }, null],
    ['pauses a handler again', pausedHandler, 'handlers.pause', { handler: HANDLER, reason }, 'handler_paused'],
    ['resumes a handler', pausedHandler, 'handlers.resume', { handler: HANDLER, reason }, null],
    ['resumes a handler again', configured, 'handlers.resume', { handler: HANDLER, reason }, 'handler_not_paused'],
    ['discards tasks too early', configured, 'handlers.discard', { handler: HANDLER, reason }, 'handler_configured'],
    ['releases a parked receipt', parked, 'receipts.release', { key: 'rcp_console_released', reason }, null],
    ['ends a session that is not there', nothing, 'sessions.end', { id: SESSION, reason }, null],
  ] as const
).map(([does, needed, procedure, input, code]): PageCall => {
  const call = { does, states: [needed], procedure, input }
  return code === null ? { ...call, answer: ACCEPTED } : { ...call, answer: refusedPage(409, code), refused: code }
})

/** All calls. */
export const CALLS: readonly PageCall[] = [...QUERIES, ...CHANGES, ...MORE_CHANGES]
