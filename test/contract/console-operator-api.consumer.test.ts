import { MatchersV3 } from '@pact-foundation/pact'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { operator } from '../../packages/console/src/api/operator-client.ts'
import { setSession } from '../../packages/console/src/api/session.ts'
import { readInParts } from '../../packages/console/src/events/event-feed.ts'
import { toEventQuery } from '../../packages/console/src/events/event-search.ts'
import * as answers from './console-answers.ts'
import { compareAtTheEnd, openConsumerContract } from './consumer-contract.ts'
import { data, state, time } from './gateway-contract.ts'
import {
  authentic,
  dead,
  HANDLER,
  MAY_NOT,
  type OperatorCall,
  OVERVIEW,
  operatorExchange,
  READER,
  REPLAY,
  SIGN_IN,
  STRANGER,
  UNKNOWN,
} from './operator-exchanges.ts'

const { eachLike, integer, regex, string } = MatchersV3

const contract = openConsumerContract('console', 'operator-api', (path) => !path.startsWith(SIGN_IN))
compareAtTheEnd(contract)
afterEach(() => void vi.unstubAllGlobals())

type Client = typeof operator

interface PageCall extends OperatorCall {
  readonly act: (client: Client) => Promise<unknown>
  /** The refusal that the page gets. Absent: the call succeeds. */
  readonly refused?: object
}

/** The cookie of a session, which the browser adds, and its id. A provider test sets both to those of its gateway. */
const COOKIE = `oncehook-session=ohs_${'s'.repeat(43)}`
const SESSION = '5e55105e55105e55'

const ID = '6920000000000000000000b1'
const AUTHENTIC = '6920000000000000000000b2'
const HELD = '6920000000000000000000b3'
const reason = 'the order was paid by hand'
const [limit, withinMs] = [100, 150]

/** The page reads nothing of these answers. */
const ACCEPTED = data({})
const held = state('an event is being processed', { id: HELD, orderId: 'ord_console_held' })
const finished = state('a replay is finished', { replayId: ID })
const paused = state('a provider was paused', { provider: 'shop', reason: 'an entry' })
const removed = state('a removed handler has a dead task', { handler: 'search' })
const configured = { description: 'a handler is configured' }
const forged = { description: 'a forged delivery was refused' }
const pageOf = (items: readonly object[]) => data({ items, next: null, cut: null })
const pausedBy = (why: unknown) => ({ since: time(), by: string('alice'), reason: why })

const QUERIES: readonly PageCall[] = [
  {
    ...{ does: 'asks who signs in', procedure: 'me', act: ({ me }) => me.query() },
    answer: data({
      ...{ operator: string('alice'), session: string(SESSION) },
      roles: eachLike(regex('^(?:read|operate|bodies|orders)$', 'operate')),
    }),
  },
  {
    ...{ does: 'asks who signs in with a token that may only read', states: [READER], procedure: 'me' },
    ...{ answer: data({ operator: string('reader'), roles: ['read'] }), act: ({ me }) => me.query() },
  },
  {
    ...{ does: 'shows an overview', states: [dead('6920000000000000000000b0')], procedure: 'overview' },
    ...{ answer: OVERVIEW, act: ({ overview }) => overview.query() },
  },
  {
    ...{ does: 'shows how soon deliveries were answered', procedure: 'answerTimes' },
    ...{ answer: data(answers.ANSWER_TIMES), act: ({ answerTimes }) => answerTimes.query() },
  },
  {
    ...{ does: 'lists the newest dead events', states: [dead(ID)], procedure: 'events.list' },
    ...{ input: { state: 'dead', withinMs, limit }, answer: pageOf([answers.deadEvent(ID)]) },
    act: ({ events }) =>
      readInParts(
        (part) => events.list.query({ ...toEventQuery({ state: 'dead' }), ...part, limit }),
        () => undefined,
      ),
  },
  {
    ...{ does: 'lists older events', states: [dead(ID)], procedure: 'events.list' },
    ...{ input: { after: 'f'.repeat(24), limit }, answer: pageOf([answers.deadEvent(ID)]) },
    act: ({ events }) => events.list.query({ ...toEventQuery({}), after: 'f'.repeat(24), limit }),
  },
  {
    ...{ does: 'lists the tasks of a handler', states: [removed], procedure: 'events.list' },
    input: { handler: 'search', withinMs, limit },
    answer: pageOf([answers.deadEvent(answers.anyId(), { reason: 'handler_refused', handler: 'search' })]),
    act: ({ events }) => events.list.query({ ...toEventQuery({ handler: 'search' }), withinMs, limit }),
  },
  {
    ...{ does: 'lists the tasks of an event', procedure: 'events.list' },
    states: [state('an order has a dead event', { orderId: 'ord_console', eventId: 'evt_console' })],
    input: { provider: 'acme', eventId: 'evt_console', limit },
    answer: pageOf([answers.deadEvent(answers.anyId(), { eventId: 'evt_console', orderId: 'ord_console' })]),
    act: ({ events }) => events.list.query({ provider: 'acme', eventId: 'evt_console', limit }),
  },
  {
    ...{ does: 'shows an event', states: [dead(ID)], procedure: 'events.get', input: { id: ID } },
    answer: data({ ...answers.deadEvent(ID), ...answers.DETAILS }),
    act: ({ events }) => events.get.query({ id: ID }),
  },
  {
    ...{ does: 'shows a task that waits in line', procedure: 'events.get', input: { id: ID } },
    states: [state('a task of a removed handler waits in line', { handler: 'search', id: ID, earlier: HELD })],
    answer: data({
      ...answers.deadEvent(ID, { handler: 'search', state: 'pending', reason: null, settledAt: null }),
      ...{ ...answers.DETAILS, waitsFor: HELD, notSent: 'handler_removed' },
    }),
    act: ({ events }) => events.get.query({ id: ID }),
  },
  {
    ...{ does: 'shows an event with its body', states: [dead(ID)], procedure: 'events.get' },
    ...{ input: { id: ID, body: true }, answer: data({ headers: {}, raw: 'e30=' }) },
    act: ({ events }) => events.get.query({ id: ID, body: true }),
  },
  {
    ...{ does: 'verifies an event that is authentic', states: [authentic(AUTHENTIC)], procedure: 'events.reverify' },
    ...{ input: { id: AUTHENTIC }, answer: data({ valid: true, secretId: 'newer' }) },
    act: ({ events }) => events.reverify.query({ id: AUTHENTIC }),
  },
  {
    ...{ does: 'verifies an event that has no signature', states: [dead(ID)], procedure: 'events.reverify' },
    ...{ input: { id: ID }, answer: data({ valid: false, failure: 'header_missing' }) },
    act: ({ events }) => events.reverify.query({ id: ID }),
  },
  {
    ...{ does: 'lists a replay', states: [finished], procedure: 'replays.list', input: { limit } },
    answer: data({ items: [{ replayId: ID, ...answers.LISTED_REPLAY }], next: null }),
    act: ({ replays }) => replays.list.query({ limit }),
  },
  {
    ...{ does: 'shows a replay', states: [finished], procedure: 'replays.get', input: { replayId: ID } },
    ...{ answer: data(REPLAY), act: ({ replays }) => replays.get.query({ replayId: ID }) },
  },
  {
    ...{ does: 'lists providers', procedure: 'providers.list', act: ({ providers }) => providers.list.query() },
    answer: data(eachLike({ ...answers.PROVIDER, paused: null })),
  },
  {
    ...{ does: 'lists providers that are paused', states: [paused], procedure: 'providers.list' },
    answer: data(eachLike({ ...answers.PROVIDER, paused: { ...pausedBy(string('an entry')), waiting: integer(0) } })),
    act: ({ providers }) => providers.list.query(),
  },
  {
    ...{ does: 'shows the health of providers', states: [{ description: 'a provider needs attention' }] },
    ...{ procedure: 'providers.health', answer: data(answers.HEALTH) },
    act: ({ providers }) => providers.health.query(),
  },
  {
    ...{ does: 'lists handlers when there are none', procedure: 'handlers.list', answer: data([]) },
    act: ({ handlers }) => handlers.list.query(),
  },
  {
    ...{ does: 'lists handlers, one of which is paused', procedure: 'handlers.list' },
    states: [state('a handler is paused', { reason: 'its service is being moved' })],
    answer: data([answers.BUILT_IN, { ...answers.BILLING, paused: pausedBy('its service is being moved') }]),
    act: ({ handlers }) => handlers.list.query(),
  },
  {
    ...{ does: 'lists handlers, one of which was removed', states: [removed], procedure: 'handlers.list' },
    answer: data([answers.BUILT_IN, answers.BILLING, answers.REMOVED]),
    act: ({ handlers }) => handlers.list.query(),
  },
  {
    ...{ does: 'lists a refused delivery', states: [forged], procedure: 'refusals.list' },
    input: { provider: 'shop', limit },
    answer: data({ items: [answers.FORGED], next: null, notKept: [] }),
    act: ({ refusals }) => refusals.list.query({ provider: 'shop', limit }),
  },
  {
    ...{ does: 'counts refused deliveries by reason', states: [forged], procedure: 'refusals.counts' },
    ...{ input: { provider: 'shop' }, answer: data([{ reason: 'signature_mismatch', records: 1 }]) },
    act: ({ refusals }) => refusals.counts.query({ provider: 'shop' }),
  },
  {
    ...{ does: 'lists parked receipts', states: [state('a receipt is parked', { name: 'console' })] },
    ...{ procedure: 'receipts.list', input: { state: 'parked', limit } },
    answer: data({ items: answers.PARKED, next: null }),
    act: ({ receipts }) => receipts.list.query({ state: 'parked', limit }),
  },
  {
    ...{ does: 'lists the audit log', states: [paused], procedure: 'audit.list', input: { limit } },
    answer: data({ items: answers.ENTRIES, next: answers.anyNext() }),
    act: ({ audit }) => audit.list.query({ limit }),
  },
  {
    ...{ does: 'verifies the audit log', states: [paused], procedure: 'audit.verify', input: {} },
    answer: data({ ok: true, entries: integer(2), brokenAt: null, next: null }),
    act: ({ audit }) => audit.verify.query({}),
  },
  {
    ...{ does: 'lists the sessions', procedure: 'sessions.list', answer: data([answers.SESSION]) },
    act: ({ sessions }) => sessions.list.query(),
  },
  {
    ...{ does: 'asks in a session that has ended', states: [STRANGER], procedure: 'overview', answer: UNKNOWN },
    ...{ act: ({ overview }) => overview.query(), refused: { reason: 'unauthenticated' } },
  },
]

const CHANGES: readonly PageCall[] = [
  {
    ...{ does: 'signs out', procedure: 'signIn.end', input: {}, answer: ACCEPTED },
    act: ({ signIn }) => signIn.end.mutate({}),
  },
  {
    ...{ does: 'ends all sessions of an operator', procedure: 'sessions.end' },
    ...{ input: { operator: 'bob', reason }, answer: data({ ended: 0 }) },
    act: ({ sessions }) => sessions.end.mutate({ operator: 'bob', reason }),
  },
  {
    ...{ does: 'asks what a replay would concern', states: [dead(ID)], procedure: 'events.replay' },
    input: { ids: [ID], includeDone: false, dryRun: true, reason: 'dry run' },
    answer: data({ replayId: null, matched: 1 }),
    act: ({ events }) => events.replay.mutate({ ids: [ID], includeDone: false, dryRun: true, reason: 'dry run' }),
  },
  {
    ...{ does: 'replays the dead events, slowly', states: [dead(ID)], procedure: 'events.replay' },
    input: { filter: { state: 'dead' }, includeDone: false, reason, ratePerSecond: 5 },
    answer: data({ replayId: answers.anyId(), matched: 1 }),
    act: ({ events }) =>
      events.replay.mutate({ filter: toEventQuery({ state: 'dead' }), includeDone: false, reason, ratePerSecond: 5 }),
  },
  {
    ...{ does: 'cancels a replay that is over', states: [finished], procedure: 'replays.cancel' },
    ...{ input: { replayId: ID }, answer: ACCEPTED, act: ({ replays }) => replays.cancel.mutate({ replayId: ID }) },
  },
  {
    ...{ does: 'closes a dead event', states: [dead(ID)], procedure: 'events.close', input: { id: ID, reason } },
    ...{ answer: ACCEPTED, act: ({ events }) => events.close.mutate({ id: ID, reason }) },
  },
  {
    ...{ does: 'releases an event', states: [held], procedure: 'events.release', input: { id: HELD, reason } },
    ...{ answer: ACCEPTED, act: ({ events }) => events.release.mutate({ id: HELD, reason }) },
  },
  {
    ...{ does: 'sends a test event', procedure: 'events.sendTest' },
    input: { provider: 'acme', reason, orderId: 'ord_console_test' },
    answer: data({ id: answers.anyId(), eventId: string('test_1') }),
    act: ({ events }) => events.sendTest.mutate({ provider: 'acme', reason, orderId: 'ord_console_test' }),
  },
  {
    ...{ does: 'pauses a provider', procedure: 'providers.pause', input: { provider: 'shop', reason } },
    ...{ answer: ACCEPTED, act: ({ providers }) => providers.pause.mutate({ provider: 'shop', reason }) },
  },
  {
    ...{ does: 'pauses a provider with a token that may only read', states: [READER] },
    ...{ procedure: 'providers.pause', input: { provider: 'acme', reason }, answer: MAY_NOT },
    act: ({ providers }) => providers.pause.mutate({ provider: 'acme', reason }),
    refused: { reason: 'role_missing' },
  },
  {
    ...{ does: 'resumes a provider', states: [paused], procedure: 'providers.resume' },
    ...{ input: { provider: 'shop', reason }, answer: ACCEPTED },
    act: ({ providers }) => providers.resume.mutate({ provider: 'shop', reason }),
  },
  {
    ...{ does: 'pauses a handler', states: [configured], procedure: 'handlers.pause' },
    ...{ input: { handler: HANDLER, reason }, answer: ACCEPTED },
    act: ({ handlers }) => handlers.pause.mutate({ handler: HANDLER, reason }),
  },
  {
    ...{ does: 'resumes a handler', states: [state('a handler is paused', { reason: 'an entry' })] },
    ...{ procedure: 'handlers.resume', input: { handler: HANDLER, reason }, answer: ACCEPTED },
    act: ({ handlers }) => handlers.resume.mutate({ handler: HANDLER, reason }),
  },
  {
    ...{ does: 'asks what a backfill would examine', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, filter: {}, dryRun: true, reason: 'dry run' },
    answer: data({ replayId: null, matched: 0 }),
    act: ({ handlers }) => handlers.backfill.mutate({ handler: HANDLER, filter: {}, dryRun: true, reason: 'dry run' }),
  },
  {
    ...{ does: 'gives a handler the stored events', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, filter: { from: '2026-11-21T08:00:00.000Z' }, reason },
    answer: data({ replayId: answers.anyId() }),
    act: ({ handlers }) =>
      handlers.backfill.mutate({ handler: HANDLER, filter: { from: '2026-11-21T08:00:00.000Z' }, reason }),
  },
  {
    ...{ does: 'discards the tasks of a removed handler', states: [removed], procedure: 'handlers.discard' },
    ...{ input: { handler: 'search', reason }, answer: data({ discarded: 1, more: false, held: 0 }) },
    act: ({ handlers }) => handlers.discard.mutate({ handler: 'search', reason }),
  },
  {
    ...{ does: 'releases a parked receipt', procedure: 'receipts.release', answer: ACCEPTED },
    states: [state('a receipt is parked', { name: 'console_released' })],
    input: { key: 'rcp_console_released', reason },
    act: ({ receipts }) => receipts.release.mutate({ key: 'rcp_console_released', reason }),
  },
]

describe("the operator's page", () => {
  it.each([...QUERIES, ...CHANGES])('$does', async ({ act, refused, ...call }) => {
    const real = globalThis.fetch
    // The page asks who it is before it knows its session.
    const isKnown = call.procedure !== 'me'
    const headers = { cookie: COOKIE, 'oncehook-session': isKnown ? SESSION : '*' }
    setSession(isKnown ? { id: SESSION, operator: 'alice', roles: [] } : undefined)
    await (await contract).expectExchange(operatorExchange(call, headers), async (url) => {
      // In a browser, the page and the operator API have one address, and the browser adds the cookie.
      const there: typeof fetch = (input, init) =>
        real(new URL(String(input), url), { ...init, headers: { ...init?.headers, cookie: COOKIE } })
      vi.stubGlobal('fetch', there)
      const acted = act(operator)
      if (refused === undefined) expect(await acted).toBeTypeOf('object')
      else await expect(acted).rejects.toMatchObject({ data: refused })
    })
  })
})
