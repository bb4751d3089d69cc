import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { checkReason } from '../../packages/cli/src/doctor/check-events.ts'
import { checkAdmin, checkOperatorToken } from '../../packages/cli/src/doctor/check-listeners.ts'
import { checkEncryption } from '../../packages/cli/src/doctor/check-secrets.ts'
import { createOperatorClient } from '../../packages/cli/src/operator/operator-client.ts'
import { testContext } from '../../packages/cli/src/testing/run-command.ts'
import { BILLING, BUILT_IN, DETAILS, ENTRY, PROVIDER, shownEvent } from './cli-answers.ts'
import { CHOICES, type Command, expectCommand, FILTERS, openCliContract, withOption } from './cli-contract.ts'
import { compareAtTheEnd } from './consumer-contract.ts'
import { data, refusal, state, time } from './gateway-contract.ts'
import {
  authentic,
  dead,
  HANDLER,
  NOT_KEPT,
  OPERATOR_TOKEN,
  OVERVIEW,
  operatorExchange,
  overviewWith,
  REPLAY,
  ROTATING,
  SIGNED_IN,
  STRANGER,
  TRIED,
  UNKNOWN,
} from './operator-exchanges.ts'

const { boolean, eachLike, integer, like, regex, reify, string } = MatchersV3

const contract = openCliContract('queries')
compareAtTheEnd(contract)
const ID = '6920000000000000000000a1'
const OTHER = '6920000000000000000000a2'
const AUTHENTIC = '6920000000000000000000a3'
const WHY = 'its service is being moved'

const SHOWN = shownEvent(ID)
// What the command line asks before it asks whether the event is authentic.
const EVENT = reify({ ...SHOWN, ...DETAILS } as never) as object
const answerGet = (call: string) => (call.includes('/events.get') ? EVENT : null)

const pausedProvider = state('a provider was paused', { provider: 'shop', reason: 'an entry' })

const words = (text: string): string[] => text.split(' ')
const NOTHING = { description: 'nothing in particular' }
const cursor = '0'.repeat(24)
const LISTED = [
  ...FILTERS,
  ...CHOICES,
  ['--about', 'pay_none', { about: 'pay_none' }],
  ['--text', 'none', { text: 'none' }],
  ['--after', cursor, { after: cursor }],
] as const

const QUERIES: readonly Command[] = [
  ...LISTED.map((given): Command => {
    const [option, value, input] = given
    const isFound = option === '--no-test' || value === 'dead'
    const chosen = CHOICES.includes(given) ? `${option} ${value}` : option
    const answer = data({ items: isFound ? [SHOWN] : [], next: null, cut: null, notReadable: 0 })
    return {
      ...{ does: `lists events with ${chosen}`, states: [dead(ID)], procedure: 'events.list', input, answer },
      ...{ args: withOption('events list', given), says: isFound ? /order_unknown/ : /^No events/ },
    }
  }),
  {
    ...{ does: 'lists older replays', procedure: 'replays.list', input: { after: cursor } },
    ...{ answer: data({ items: [], next: null }), args: ['replays', 'list', '--after', cursor], says: /^No replays/ },
  },
  {
    ...{ does: 'lists older refused deliveries', procedure: 'refusals.list', input: { after: cursor } },
    answer: data({ items: [], next: null, notKept: [] }),
    ...{ args: ['refused', '--after', cursor], says: /^No refused deliveries/ },
  },
  {
    ...{ does: 'lists refused deliveries with a reason', states: [{ description: 'a forged delivery was refused' }] },
    ...{ procedure: 'refusals.list', input: { reason: 'invalid_body' } },
    answer: data({ items: [], next: null, notKept: [] }),
    ...{ args: ['refused', '--reason', 'invalid_body'], says: /^No refused deliveries/ },
  },
  {
    ...{ does: 'lists older entries of the audit log', states: [pausedProvider], procedure: 'audit.list' },
    ...{ input: { after: cursor }, answer: data({ items: [], next: null }), says: /^The audit log is empty/ },
    args: ['audit', 'list', '--after', cursor],
  },
  {
    ...{ does: 'looks for an entry that the audit log lacks', states: [pausedProvider], procedure: 'audit.verify' },
    ...{ input: { after: { seq: 1, hash: '0'.repeat(64) } }, answer: data({ ok: false, last: null }) },
    ...{ args: ['audit', 'verify', '--expect', `1:${'0'.repeat(64)}`], exitCode: 1 },
    says: /does not exist with this hash/,
  },
  {
    ...{ does: 'lists receipts in a state', procedure: 'receipts.list' },
    input: { state: 'parked', orderId: 'ord_none' },
    ...{ answer: data({ items: [], next: null }), args: words('receipts list --state parked --order ord_none') },
    says: /^No receipts/,
  },
  ...['owed', 'sending', 'sent'].map(
    (one): Command => ({
      ...{ does: `lists receipts that are ${one}`, procedure: 'receipts.list', input: { state: one } },
      ...{
        answer: data({ items: like([]), next: null }),
        args: words(`receipts list --state ${one}`),
        says: /^No receipts/,
      },
    }),
  ),
  {
    ...{ does: 'lists receipts after others', procedure: 'receipts.list', input: { after: 'W251bGwsIm9yZF96IiwiIl0' } },
    ...{ answer: data({ items: [], next: null }), args: ['receipts', 'list', '--after', 'W251bGwsIm9yZF96IiwiIl0'] },
    says: /^No receipts/,
  },
  {
    ...{ does: 'shows an overview', states: [dead('6920000000000000000000a0')], procedure: 'overview' },
    ...{ answer: OVERVIEW, args: ['overview'], says: /Dead +1\n +order_unknown: 1/ },
  },
  {
    ...{ does: 'shows that providers are paused', states: [pausedProvider], procedure: 'overview' },
    ...{
      answer: overviewWith({ pausedProviders: eachLike(string('shop')) }),
      args: ['overview'],
      says: /Paused +shop/,
    },
  },
  {
    ...{ does: 'shows that a handler is paused', procedure: 'overview', args: ['overview'] },
    states: [{ description: 'a handler is paused', parameters: { reason: WHY } }],
    ...{ answer: overviewWith({ pausedHandlers: [HANDLER] }), says: /Paused +handler billing/ },
  },
  {
    ...{ does: 'lists dead events', states: [dead(ID)], procedure: 'events.list', input: { state: 'dead', limit: 5 } },
    answer: data({ items: [SHOWN], next: null, cut: null, notReadable: 0 }),
    ...{ args: ['events', 'list', '--state', 'dead', '--limit', '5'], says: /order_unknown/ },
  },
  {
    ...{ does: 'shows an event', states: [dead(ID)], procedure: 'events.get', input: { id: ID } },
    ...{ answer: data({ ...SHOWN, ...DETAILS }), args: ['events', 'show', ID], says: /order_unknown/ },
  },
  {
    ...{ does: 'shows a task that waits in line', procedure: 'events.get', input: { id: ID } },
    states: [
      {
        description: 'a task of a removed handler waits in line',
        parameters: { handler: 'search', id: ID, earlier: OTHER },
      },
    ],
    answer: data({
      ...{ ...SHOWN, ...DETAILS, handler: 'search', state: 'pending', reason: null, settledAt: null },
      ...{ waitsFor: OTHER, notSent: 'handler_removed' },
    }),
    args: ['events', 'show', ID],
    says: new RegExp(`Waits for +${OTHER}, an earlier task of its line\nNot sent +its handler is not in the setting`),
  },
  {
    ...{ does: 'shows an event that was tried, closed and replayed', procedure: 'events.get', input: { id: ID } },
    states: [{ description: 'an event was tried, closed and replayed', parameters: { id: ID } }],
    ...{ answer: data({ ...SHOWN, ...DETAILS, ...TRIED }), args: ['events', 'show', ID] },
    says: /Outcome +applied, order version 2\nLast error +order_unknown: No order\n[\s\S]+Closed +\d.+ by alice: It was paid\n[\s\S]+ 12 ms +failed +order_unknown[\s\S]+ bob +a replay +not remapped: key_unknown/,
  },
  {
    ...{ does: 'shows an event with its body', states: [dead(ID)], procedure: 'events.get' },
    ...{ input: { id: ID, body: true }, answer: data({ ...SHOWN, ...DETAILS, raw: 'e30=' }) },
    ...{ args: ['events', 'show', ID, '--raw'], says: /^\{\}$/ },
  },
  {
    ...{ does: 'shows an event that is not there', procedure: 'events.get', input: { id: OTHER } },
    ...{ answer: refusal(404, 'not_found'), args: ['events', 'show', OTHER] },
  },
  {
    ...{ does: 'verifies an event that is authentic', states: [authentic(AUTHENTIC)], procedure: 'events.reverify' },
    ...{ input: { id: AUTHENTIC }, answer: data({ valid: true, secretId: 'newer', failure: null }) },
    ...{ args: ['events', 'show', AUTHENTIC, '--verify'], answerOther: answerGet },
    says: /Verified now +authentic, signed with the secret newer/,
  },
  {
    ...{ does: 'verifies an event that has no signature', states: [dead(ID)], procedure: 'events.reverify' },
    ...{ input: { id: ID }, answer: data({ valid: false, secretId: null, failure: 'header_missing' }) },
    ...{ args: ['events', 'show', ID, '--verify'], exitCode: 1, answerOther: answerGet },
    says: /Verified now +not authentic: header_missing/,
  },
  {
    ...{ does: 'lists replays when there were none', procedure: 'replays.list', input: {} },
    ...{ answer: data({ items: [], next: null }), args: ['replays', 'list'], says: /^No replays/ },
  },
  {
    ...{ does: 'lists a replay', procedure: 'replays.list', input: { limit: 5 } },
    states: [{ description: 'a replay is finished', parameters: { replayId: ID } }],
    answer: data({ items: [{ replayId: ID, ...REPLAY }], next: null }),
    ...{ args: ['replays', 'list', '--limit', '5'], says: /finished +2/ },
  },
  {
    ...{ does: 'shows a replay', procedure: 'replays.get', input: { replayId: ID } },
    ...{ states: [{ description: 'a replay is finished', parameters: { replayId: ID } }], answer: data(REPLAY) },
    ...{ args: ['replays', 'show', ID], says: /State +finished\n/ },
  },
  {
    ...{ does: 'shows a replay that is not there', procedure: 'replays.get', input: { replayId: OTHER } },
    ...{ answer: refusal(404, 'not_found'), args: ['replays', 'show', OTHER] },
  },
  {
    ...{ does: 'lists providers', procedure: 'providers.list', answer: data(eachLike({ ...PROVIDER, paused: null })) },
    ...{ args: ['providers', 'list'], says: /acme +newer +never/ },
  },
  {
    ...{ does: 'lists providers, a secret of which ends', procedure: 'providers.list' },
    states: [{ description: 'a provider needs attention' }],
    answer: data([
      { ...PROVIDER, ...ROTATING },
      { ...PROVIDER, name: 'shop', paused: null },
    ]),
    ...{ args: ['providers', 'list'], says: /acme +newer +never +3 +\d[\s\S]+acme +older +\d/ },
  },
  {
    ...{ does: 'lists providers that are paused', states: [pausedProvider], procedure: 'providers.list' },
    answer: data(
      eachLike({ ...PROVIDER, paused: { since: time(), by: 'alice', reason: 'an entry', waiting: integer(0) } }),
    ),
    ...{ args: ['providers', 'list'], says: /alice +an entry +0/ },
  },
  {
    ...{ does: 'lists handlers when there are none', procedure: 'handlers.list', answer: data([]) },
    ...{ args: ['handlers', 'list'], says: /^No handlers/ },
  },
  {
    ...{ does: 'lists handlers, one of which is paused', procedure: 'handlers.list' },
    states: [{ description: 'a handler is paused', parameters: { reason: WHY } }],
    answer: data([BUILT_IN, { ...BILLING, paused: { since: time(), by: 'alice', reason: WHY } }]),
    ...{
      args: ['handlers', 'list'],

      says: /billing .*\n\n.*PAUSED SINCE.*\nbilling .* alice +its service/,
    },
  },
  {
    ...{ does: 'lists handlers, one of which was removed', procedure: 'handlers.list' },
    states: [{ description: 'a removed handler has a dead task', parameters: { handler: 'search' } }],
    answer: data([...[BUILT_IN, BILLING], { ...BUILT_IN, name: 'search', by: 'removed', dead: 1 }]),
    ...{ args: ['handlers', 'list'], says: /search +removed .*not sent: removed/ },
  },
  {
    ...{ does: 'lists refused deliveries when there were none', procedure: 'refusals.list', input: {} },
    ...{ answer: data({ items: [], next: null, notKept: [] }), args: ['refused'], says: /^No refused deliveries/ },
  },
  {
    ...{ does: 'lists refused deliveries without a record', procedure: 'refusals.list', input: { limit: 2 } },
    states: [{ description: 'deliveries were refused without a record' }],
    answer: data({ items: [], next: null, notKept: [NOT_KEPT] }),
    ...{ args: ['refused', '--limit', '2'], says: /^Not kept: 7 more of shop \(signature_invalid\), the last at \d/m },
  },
  {
    ...{ does: 'lists a refused delivery', states: [{ description: 'a forged delivery was refused' }] },
    ...{ procedure: 'refusals.list', input: { limit: 1, provider: 'shop' } },
    answer: data({
      items: [
        {
          ...{ at: time(), provider: 'shop', reason: 'signature_invalid', why: 'signature_mismatch', status: 401 },
          ...{ message: string('The signature does not match the body'), network: string('127.0.0.0/24') },
          ...{ bytes: integer(2), secretIds: ['only'] },
          causes: eachLike({ message: string('The signature was made with another secret'), proved: boolean(false) }),
        },
      ],
      next: null,
      notKept: [],
    }),
    ...{
      args: ['refused', '--limit', '1', '--provider', 'shop'],

      says: /shop +signature_mismatch +401 .* only +Possibly: /,
    },
  },
  {
    ...{ does: 'verifies the audit log', states: [pausedProvider], procedure: 'audit.verify', input: {} },
    answer: data({ ok: true, entries: integer(2), brokenAt: null, last: ENTRY, next: null }),
    ...{ args: ['audit', 'verify'], says: /^2 entries, unchanged, none missing/ },
  },
  {
    ...{ does: 'lists receipts of an order that has none', procedure: 'receipts.list' },
    ...{ input: { limit: 5, orderId: 'ord_none' }, answer: data({ items: [], next: null }) },
    ...{ args: ['receipts', 'list', '--order', 'ord_none', '--limit', '5'], says: /^No receipts/ },
  },
  {
    ...{ does: 'lists a parked receipt', procedure: 'receipts.list', input: { limit: 5, orderId: 'ord_cli_listed' } },
    states: [{ description: 'a receipt is parked', parameters: { name: 'cli_listed' } }],
    answer: data({
      items: [
        {
          ...{ key: 'rcp_cli_listed', orderId: 'ord_cli_listed', paymentId: 'pay_cli_listed', amount: 1999 },
          ...{ currency: 'EUR', paidAt: time(), state: 'parked', attempts: integer(2), sentAt: null },
          lastError: { code: 'receipt_refused', at: time() },
        },
      ],
      next: null,
    }),
    args: ['receipts', 'list', '--order', 'ord_cli_listed', '--limit', '5'],
    says: /rcp_cli_listed .*19\.99.* parked +2 +receipt_refused/,
  },
  {
    ...{ does: 'shows what an order costs', procedure: 'orders.get', input: { id: 'ord_cli_shown' } },
    states: [
      {
        description: 'there is an order of a customer',
        parameters: { orderId: 'ord_cli_shown', customerId: 'cus_shown' },
      },
    ],
    answer: data({
      ...{ id: 'ord_cli_shown', version: 1, status: 'pending', access: 'locked', amountDue: 1999, currency: 'EUR' },
      ...{ items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }], payment: null, updatedAt: time() },
    }),
    args: ['orders', 'show', 'ord_cli_shown'],
    says: /Amount due +19\.99 EUR\nItem +1 × 1999 sku_1\nPayment +none/,
  },
  {
    ...{ does: 'lists the newest entry of the audit log', states: [pausedProvider], procedure: 'audit.list' },
    input: { limit: 1 },
    answer: data({
      items: [
        {
          ...{ at: time(), by: 'alice', action: 'providers.pause', reason: 'an entry', details: { provider: 'shop' } },
          isInChain: true,
        },
      ],
      next: regex(/^[0-9a-f]{24}$/, ID),
    }),
    ...{ args: ['audit', 'list', '--limit', '1'], says: /providers\.pause +an entry/ },
  },
  {
    ...{ does: 'lists the sessions of everybody', states: [SIGNED_IN], procedure: 'sessions.list' },
    answer: data([
      {
        ...{ id: regex(/^[0-9a-f]{16}$/, '5e55105e55105e55'), operator: 'alice' },
        ...{ openedAt: time(), usedAt: time(), endsAt: time() },
      },
    ]),
    ...{ args: ['sessions', 'list'], says: /^[0-9a-f]{16} +alice +\d{4}-/m },
  },
  {
    ...{ does: 'asks with a token that is unknown', states: [STRANGER], procedure: 'overview', answer: UNKNOWN },
    ...{ args: ['overview'], exitCode: 1, says: /rejected this token/ },
  },
]

const OFF = { firstKey: null, missing: [] }
const ON = { firstKey: 'first', missing: [] }

describe('the command line', () => {
  it.each(QUERIES)('$does', async (query) => {
    await expectCommand(await contract, query)
  })

  // The command `doctor` asks much more, which other interactions have.
  it.each([
    { does: 'asks for the keys when nothing is encrypted', keys: OFF, in: 'nothing in particular', says: /^Off/ },
    { does: 'asks for the keys', keys: ON, in: 'records are encrypted', says: /^On, with the key first$/ },
  ])('$does', async ({ does, keys, says, ...more }) => {
    const answer = data({ gateway: keys, fulfilment: keys })
    const call = { does, states: [{ description: more.in }], procedure: 'encryption.status', answer }
    await (await contract).expectExchange(operatorExchange(call), async (adminUrl) => {
      const { level, message } = await checkEncryption(createOperatorClient(fetch, { adminUrl, token: OPERATOR_TOKEN }))
      expect({ level, message }).toEqual({ level: 'ok', message: expect.stringMatching(says) })
    })
  })

  const PROBES = [
    { path: '/livez', headers: {}, more: {} },
    { path: '/readyz', headers: {}, more: { body: { checks: { mongodb: 'ok', fulfilment: 'ok' } } } },
    { path: '/operator/audit.list', headers: { authorization: `Bearer ${OPERATOR_TOKEN}` }, more: {} },
  ]
  it.each(PROBES)('asks $path whether the gateway answers', async ({ path, headers, more }) => {
    const exchange = { does: `asks ${path} whether the gateway answers`, states: [NOTHING] }
    const request = { method: 'GET', path, headers }
    await (await contract).expectExchange(
      { ...exchange, request, answer: { status: 200, ...more } },
      async (adminUrl) => {
        const other = async () => Response.json({ checks: {} })
        const context = testContext({ fetch: (url, init) => (String(url).endsWith(path) ? fetch(url, init) : other()) })
        const found = path.startsWith('/operator')
          ? [await checkOperatorToken(context, { adminUrl, token: OPERATOR_TOKEN })]
          : await checkAdmin(context, adminUrl)
        expect(found.map(({ level }) => level)).not.toContain('failure')
      },
    )
  })

  it('counts the events that nobody could read', async () => {
    const answer = data({ events: 0, cut: null })
    const input = { state: 'unhandled', reason: 'unreadable' }
    const call = {
      does: 'counts the events that nobody could read',
      states: [],
      procedure: 'events.counts',
      input,
      answer,
    }
    await (await contract).expectExchange(operatorExchange(call), async (adminUrl) => {
      const client = createOperatorClient(fetch, { adminUrl, token: OPERATOR_TOKEN })
      expect(await checkReason(client, 'unreadable')).toBeNull()
    })
  })
})
