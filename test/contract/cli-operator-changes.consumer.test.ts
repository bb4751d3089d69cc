import { MatchersV3 } from '@pact-foundation/pact'
import { describe, it } from 'vitest'
import { type Command, expectCommand, FILTERS, openCliContract, withOption } from './cli-contract.ts'
import { compareAtTheEnd } from './consumer-contract.ts'
import { data, refusal, state, time } from './gateway-contract.ts'
import { dead, HANDLER, MAY_NOT, READER, REPLAY, SIGNED_IN } from './operator-exchanges.ts'

const { integer, regex, string } = MatchersV3

const contract = openCliContract('changes')
compareAtTheEnd(contract)
const ID = '6920000000000000000000a1'
const OTHER = '6920000000000000000000a2'
const HELD = '6920000000000000000000a4'
const SESSION = '5e55105e55105e55'
const REASON = ['--reason', 'the order was paid by hand']
const reason = REASON[1]

const words = (text: string): string[] => text.split(' ')
const anyId = () => regex(/^[0-9a-f]{24}$/, '6920000000000000000000a5')
const ofOrder = (name: string) => state('an order has a dead event', { orderId: `ord_${name}`, eventId: `evt_${name}` })
const held = state('an event is being processed', { id: HELD, orderId: 'ord_cli_held' })
const configured = { description: 'a handler is configured' }
const ITEMS = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
const ROTATED = { examined: integer(1), changed: integer(0), unknown: integer(0), altered: integer(0), key: 'first' }
const ROTATED_ALL = { examined: 1, changed: 0, unknown: 0, altered: 0, key: 'first', next: null }

const dryRun = { reason: 'dry run', dryRun: true }
const wouldReplay = (matched: number) => ({
  ...{ answer: data({ replayId: null, matched }), says: new RegExp(`^${matched} events? would be replayed`) },
})

const CHANGES: readonly Command[] = [
  ...FILTERS.flatMap((given): Command[] => {
    const [option, , filter] = given
    return [
      {
        ...{ does: `asks what a replay with ${option} would concern`, states: [dead(ID)], procedure: 'events.replay' },
        input: { filter: { state: 'dead', ...filter }, ...dryRun, includeDone: false },
        ...{
          args: [...withOption('events replay', given), '--dry-run'],
          ...wouldReplay(option === '--no-test' ? 1 : 0),
        },
      },
      {
        ...{ does: `asks what a backfill with ${option} would examine`, states: [configured] },
        ...{ procedure: 'handlers.backfill', input: { handler: HANDLER, filter, ...dryRun } },
        answer: data({ replayId: null, matched: 0 }),
        args: [...withOption(`handlers backfill ${HANDLER}`, given), '--dry-run'],
        says: /^0 stored records are examined/,
      },
    ]
  }),
  {
    ...{ does: 'asks what a replay of all would concern', states: [dead(ID)], procedure: 'events.replay' },
    input: { filter: { state: 'dead' }, ...dryRun, includeDone: false },
    ...{ args: words('events replay --all --dry-run'), ...wouldReplay(1) },
  },
  {
    ...{ does: 'asks what a replay of all, also of those that are done, would concern', states: [dead(ID)] },
    ...{ procedure: 'events.replay', input: { filter: {}, ...dryRun, includeDone: true } },
    ...{ args: words('events replay --all --include-done --dry-run'), ...wouldReplay(1) },
  },
  {
    ...{ does: 'asks what a replay would concern', states: [dead(ID)], procedure: 'events.replay' },
    input: { ids: [ID], reason: 'dry run', dryRun: true, includeDone: false },
    ...{ answer: data({ replayId: null, matched: 1 }), args: ['events', 'replay', ID, '--dry-run'] },
    says: /^1 event would be replayed/,
  },
  {
    ...{ does: 'replays an event', states: [dead(ID)], procedure: 'events.replay' },
    input: { ids: [ID], reason, dryRun: false, includeDone: false },
    ...{ answer: data({ replayId: anyId(), matched: 1 }), args: ['events', 'replay', ID, '--no-wait', ...REASON] },
    says: /^Replay [0-9a-f]{24}: 1 event\n/,
  },
  {
    ...{ does: 'replays the dead events of a filter, slowly', states: [dead(ID)], procedure: 'events.replay' },
    input: {
      ...{ filter: { provider: 'acme', reason: 'order_unknown', state: 'dead' }, reason, dryRun: false },
      ...{ includeDone: false, ratePerSecond: 5 },
    },
    answer: data({ replayId: anyId(), matched: 1 }),
    args: [...words('events replay --provider acme --failed-with order_unknown --rate 5 --no-wait'), ...REASON],
    says: /^Replay [0-9a-f]{24}: 1 event\n/,
  },
  {
    ...{ does: 'replays an event that is being processed', states: [held], procedure: 'events.replay' },
    input: { ids: [HELD], reason, dryRun: false, includeDone: false },
    answer: refusal(409, 'events_busy', { retry: 'later' }),
    args: ['events', 'replay', HELD, '--no-wait', ...REASON],
  },
  {
    ...{ does: 'cancels a replay that is over', states: [state('a replay is finished', { replayId: ID })] },
    ...{ procedure: 'replays.cancel', input: { replayId: ID }, answer: data(REPLAY), args: ['replays', 'cancel', ID] },
    says: /State +finished\n/,
  },
  {
    ...{ does: 'cancels a replay that is not there', procedure: 'replays.cancel', input: { replayId: OTHER } },
    ...{ answer: refusal(404, 'not_found'), args: ['replays', 'cancel', OTHER] },
  },
  {
    ...{ does: 'closes a dead event', states: [dead(ID)], procedure: 'events.close', input: { id: ID, reason } },
    ...{ answer: data({ id: ID, state: 'closed' }), args: ['events', 'close', ID, ...REASON], says: /^Closed/ },
  },
  {
    ...{ does: 'closes an event that is not there', procedure: 'events.close', input: { id: OTHER, reason } },
    ...{ answer: refusal(404, 'not_found'), args: ['events', 'close', OTHER, ...REASON] },
  },
  {
    ...{ does: 'closes an event that is not dead', states: [held], procedure: 'events.close' },
    ...{ input: { id: HELD, reason }, answer: refusal(409, 'event_not_dead') },
    args: ['events', 'close', HELD, ...REASON],
  },
  {
    ...{ does: 'releases an event', states: [held], procedure: 'events.release', input: { id: HELD, reason } },
    ...{ answer: data({ id: HELD, state: 'pending' }), args: ['events', 'release', HELD, ...REASON] },
    says: /^Released/,
  },
  {
    ...{ does: 'releases an event that nobody holds', states: [dead(ID)], procedure: 'events.release' },
    ...{ input: { id: ID, reason }, answer: refusal(409, 'event_not_processing') },
    args: ['events', 'release', ID, ...REASON],
  },
  {
    ...{ does: 'sends a test event', procedure: 'events.sendTest' },
    input: { provider: 'acme', type: 'payment.failed', reason, orderId: 'ord_cli_test', amount: 500 },
    answer: data({
      ...{ id: anyId(), eventId: regex(/^test_[0-9a-f]{32}$/, `test_${'ab'.repeat(16)}`) },
      ...{ state: 'unhandled', reason: 'test' },
    }),
    args: [...words('events test acme --type payment.failed --order ord_cli_test --amount 500'), ...REASON],
    says: /^Stored: test_[0-9a-f]{32} is unhandled \(test\)/,
  },
  {
    ...{ does: 'sends a test event of an unknown provider', procedure: 'events.sendTest' },
    ...{ input: { provider: 'nobody', type: 'payment.succeeded', reason }, answer: refusal(404, 'not_found') },
    args: ['events', 'test', 'nobody', ...REASON],
  },
  {
    ...{ does: 'erases what is stored about an order', states: [ofOrder('cli_erased')], procedure: 'erase' },
    input: { orderId: 'ord_cli_erased', reason, dryRun: false },
    answer: data({ matched: 1, erased: 1, orders: [], more: false }),
    ...{ args: ['erase', '--order', 'ord_cli_erased', ...REASON], says: /^1 record erased/ },
  },
  {
    ...{ does: 'erases an event', states: [ofOrder('cli_event')], procedure: 'erase' },
    input: { provider: 'acme', eventId: 'evt_cli_event', reason, dryRun: false },
    answer: data({ matched: 1, erased: 1, orders: [], more: false }),
    ...{ args: ['erase', '--event', 'evt_cli_event', '--provider', 'acme', ...REASON], says: /^1 record erased/ },
  },
  {
    ...{ does: 'asks what would be erased of a customer', procedure: 'erase' },
    states: [state('there is an order of a customer', { orderId: 'ord_cli_of', customerId: 'cus_cli' })],
    input: { customerId: 'cus_cli', reason, dryRun: true },
    answer: data({ matched: 1, erased: 0, orders: ['ord_cli_of'], more: false }),
    args: ['erase', '--customer', 'cus_cli', '--dry-run', ...REASON],
    says: /^1 record would be erased\nOrders: ord_cli_of/,
  },
  {
    ...{ does: 'erases an event that is being processed', states: [held], procedure: 'erase' },
    input: { orderId: 'ord_cli_held', reason, dryRun: false },
    answer: refusal(409, 'erase_unsettled', { retry: 'later' }),
    args: ['erase', '--order', 'ord_cli_held', ...REASON],
  },
  {
    ...{ does: 'begins to rotate the keys', states: [{ description: 'records are encrypted' }] },
    ...{ procedure: 'encryption.rotate', input: { reason, dryRun: true } },
    answer: data({ ...ROTATED, next: regex(/^\w+:.*$/, 'bodies:') }),
    answerOther: (call) => (call.includes('position') ? ROTATED_ALL : null),
    args: ['encryption', 'rotate', '--dry-run', ...REASON],
    says: /^0 of 2 records would be encrypted with the key first/,
  },
  {
    ...{ does: 'ends to rotate the keys', states: [{ description: 'records are encrypted' }] },
    ...{ procedure: 'encryption.rotate', input: { reason, dryRun: true, position: 'idempotency_keys:' } },
    answer: data({ ...ROTATED, next: null }),
    answerOther: (call) => (call.includes('position') ? null : { ...ROTATED_ALL, next: 'idempotency_keys:' }),
    args: ['encryption', 'rotate', '--dry-run', ...REASON],
    says: /^0 of 2 records would be encrypted with the key first/,
  },
  {
    ...{ does: 'rotates keys when nothing is encrypted', procedure: 'encryption.rotate' },
    ...{ input: { reason, dryRun: false }, answer: refusal(409, 'encryption_off') },
    args: ['encryption', 'rotate', ...REASON],
  },
  {
    ...{ does: 'pauses a provider', procedure: 'providers.pause', input: { provider: 'acme', reason } },
    ...{ answer: data({ provider: 'acme', paused: true }), args: ['providers', 'pause', 'acme', ...REASON] },
    says: /^Paused: events of acme/,
  },
  {
    ...{ does: 'pauses a provider with a token that may only read', states: [READER], procedure: 'providers.pause' },
    ...{ input: { provider: 'acme', reason }, answer: MAY_NOT, args: ['providers', 'pause', 'acme', ...REASON] },
  },
  {
    ...{ does: 'resumes a provider', procedure: 'providers.resume' },
    states: [state('a provider was paused', { provider: 'shop', reason: 'an entry' })],
    ...{ input: { provider: 'shop', reason }, answer: data({ provider: 'shop', paused: false }) },
    ...{ args: ['providers', 'resume', 'shop', ...REASON], says: /^Resumed: / },
  },
  {
    ...{ does: 'resumes a provider that is not paused', procedure: 'providers.resume' },
    ...{ input: { provider: 'shop', reason }, answer: refusal(409, 'provider_not_paused') },
    args: ['providers', 'resume', 'shop', ...REASON],
  },
  {
    ...{ does: 'pauses a handler', states: [configured], procedure: 'handlers.pause' },
    ...{ input: { handler: HANDLER, reason }, answer: data({ handler: HANDLER, paused: true }) },
    ...{ args: ['handlers', 'pause', HANDLER, ...REASON], says: /^Paused: tasks of billing/ },
  },
  {
    ...{ does: 'pauses a handler that is not there', states: [configured], procedure: 'handlers.pause' },
    ...{ input: { handler: 'nobody', reason }, answer: refusal(404, 'not_found') },
    args: ['handlers', 'pause', 'nobody', ...REASON],
  },
  {
    ...{ does: 'resumes a handler', states: [state('a handler is paused', { reason: 'an entry' })] },
    ...{ procedure: 'handlers.resume', input: { handler: HANDLER, reason } },
    ...{ answer: data({ handler: HANDLER, paused: false }), args: ['handlers', 'resume', HANDLER, ...REASON] },
    says: /^Resumed: the tasks of billing/,
  },
  {
    ...{ does: 'resumes a handler that is not paused', states: [configured], procedure: 'handlers.resume' },
    ...{ input: { handler: HANDLER, reason }, answer: refusal(409, 'handler_not_paused') },
    args: ['handlers', 'resume', HANDLER, ...REASON],
  },
  {
    ...{ does: 'asks what a backfill would examine', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, dryRun: true, filter: { type: 'of.contracts' }, reason: 'dry run' },
    answer: data({ replayId: null, matched: 0 }),
    args: ['handlers', 'backfill', HANDLER, '--type', 'of.contracts', '--dry-run'],
    says: /^0 stored records are examined/,
  },
  {
    ...{ does: 'gives a handler the stored events', states: [configured], procedure: 'handlers.backfill' },
    input: { handler: HANDLER, dryRun: false, filter: {}, reason, ratePerSecond: 5 },
    answer: data({ replayId: anyId(), matched: 0 }),
    args: ['handlers', 'backfill', HANDLER, '--rate', '5', ...REASON],
    says: /^Replay [0-9a-f]{24}: examines 0 stored records/,
  },
  {
    ...{ does: 'gives stored events to a handler that is not there', states: [configured] },
    ...{ procedure: 'handlers.backfill', input: { handler: 'nobody', dryRun: false, filter: {}, reason } },
    ...{ answer: refusal(404, 'not_found'), args: ['handlers', 'backfill', 'nobody', ...REASON] },
  },
  {
    ...{ does: 'discards the tasks of a removed handler', procedure: 'handlers.discard' },
    states: [state('a removed handler has a dead task', { handler: 'search' })],
    input: { handler: 'search', reason },
    answer: data({ handler: 'search', discarded: 1, more: false, held: 0 }),
    ...{ args: ['handlers', 'discard', 'search', ...REASON], says: /^Discarded 1 tasks of search$/m },
  },
  {
    ...{ does: 'discards the tasks of a handler that is configured', states: [configured] },
    ...{ procedure: 'handlers.discard', input: { handler: HANDLER, reason } },
    ...{ answer: refusal(409, 'handler_configured'), args: ['handlers', 'discard', HANDLER, ...REASON] },
  },
  {
    ...{ does: 'releases a parked receipt', procedure: 'receipts.release' },
    states: [state('a receipt is parked', { name: 'cli_released' })],
    ...{
      input: { key: 'rcp_cli_released', reason },
      answer: data({ key: 'rcp_cli_released', orderId: string('ord_1') }),
    },
    ...{ args: ['receipts', 'release', 'rcp_cli_released', ...REASON], says: /^Released/ },
  },
  {
    ...{ does: 'releases a receipt that is not parked', procedure: 'receipts.release' },
    ...{ input: { key: 'rcp_unknown', reason }, answer: refusal(404, 'receipt_not_parked') },
    args: ['receipts', 'release', 'rcp_unknown', ...REASON],
  },
  {
    ...{ does: 'ends a session that is not there', procedure: 'sessions.end', input: { id: SESSION, reason } },
    ...{ answer: data({ ended: 0 }), args: ['sessions', 'end', SESSION, ...REASON], says: /^No session ended/ },
  },
  {
    ...{ does: 'ends all sessions of an operator', states: [SIGNED_IN], procedure: 'sessions.end' },
    ...{ input: { operator: 'alice', reason }, answer: data({ ended: 1 }), says: /^Ended: 1$/m },
    args: ['sessions', 'end-all', 'alice', ...REASON],
  },
  {
    ...{ does: 'asks how many receipts are parked', procedure: 'receipts.releaseAll' },
    states: [state('a receipt is parked', { name: 'cli_counted' })],
    input: { reason: 'dry run', dryRun: true, after: null },
    answer: data({ matched: integer(1), released: 0, next: null }),
    ...{ args: ['receipts', 'release', '--all', '--dry-run'], says: /^1 receipt would be released/ },
  },
  {
    ...{ does: 'releases all parked receipts', procedure: 'receipts.releaseAll' },
    states: [state('a receipt is parked', { name: 'cli_all' })],
    input: { reason, dryRun: false, after: null },
    answer: data({ matched: integer(1), released: integer(1), next: null }),
    ...{ args: ['receipts', 'release', '--all', ...REASON], says: /^Released: 1 receipt\n/ },
  },
  {
    ...{ does: 'corrects what an order costs', procedure: 'orders.correct' },
    states: [state('there is an order of a customer', { orderId: 'ord_cli_wrong', customerId: 'cus_cli' })],
    input: { id: 'ord_cli_wrong', version: 1, reason, currency: 'USD', items: ITEMS },
    answer: data({
      before: { amountDue: 1999, currency: 'EUR' },
      order: { id: 'ord_cli_wrong', version: 2, amountDue: 600, currency: 'USD' },
    }),
    args: [...words('orders correct ord_cli_wrong --if-version 1 --currency USD --item 4x150:book'), ...REASON],
    says: /^Corrected: order ord_cli_wrong costs 6\.00 USD, version 2\nBefore: 19\.99 EUR/,
  },
  {
    ...{ does: 'corrects a version of an order that is no more', procedure: 'orders.correct' },
    states: [state('there is an order of a customer', { orderId: 'ord_cli_stale', customerId: 'cus_cli' })],
    input: { id: 'ord_cli_stale', version: 7, reason, currency: 'USD' },
    answer: refusal(412, 'precondition_failed', { retry: 'now', version: 1 }),
    args: [...words('orders correct ord_cli_stale --if-version 7 --currency USD'), ...REASON],
  },
  {
    ...{ does: 'asks for a link that signs in', procedure: 'signIn.createCode', input: {} },
    ...{ answer: data({ code: regex(/^[\w-]{43}$/, 'c'.repeat(43)), expiresAt: time() }), args: ['sign-in'] },
    says: new RegExp(`/sign-in#${'c'.repeat(43)}\n`),
  },
]

describe('the command line', () => {
  it.each(CHANGES)('$does', async (change) => {
    await expectCommand(await contract, change)
  })
})
