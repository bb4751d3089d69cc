import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../packages/cli/src/testing/run-command.ts'
import { openConsumerContract } from './consumer-contract.ts'
import { data, refusal, time } from './gateway-contract.ts'
import {
  dead,
  MAY_NOT,
  OPERATOR_TOKEN,
  type OperatorCall,
  OVERVIEW,
  operatorExchange,
  READER,
  STRANGER,
  UNKNOWN,
} from './operator-exchanges.ts'

const { boolean, eachLike, integer, regex, string } = MatchersV3

const contract = openConsumerContract('cli', 'operator-api')
const ID = '6920000000000000000000a1'
const OTHER = '6920000000000000000000a2'
const REASON = ['--reason', 'the order was paid by hand']
const reason = REASON[1]

const ENTRY = { seq: integer(1), hash: regex(/^[0-9a-f]{64}$/, 'ab'.repeat(32)) }
const SHOWN = {
  ...{ id: ID, provider: 'acme', eventId: string('evt_1'), type: string('of.no.effect'), objectId: string('pay_1') },
  ...{ orderId: string('ord_1'), state: 'dead', reason: 'order_unknown', starts: integer(1), deliveries: integer(1) },
  ...{ mismatches: integer(0), test: false, receivedAt: time(), dueAt: null, settledAt: time() },
}
const DETAILS = {
  ...{ headers: {}, raw: null, bytes: integer(2), notReadable: null, secretId: string('newer'), attempts: [] },
  ...{ lastError: null, outcome: null, closed: null, revivals: integer(0), replays: [] },
}

interface Command extends OperatorCall {
  readonly args: readonly string[]
  readonly exitCode: number
  readonly says: RegExp
}

const COMMANDS: readonly Command[] = [
  {
    ...{ does: 'shows an overview', states: [dead('6920000000000000000000a0')] },
    ...{ procedure: 'overview', kind: 'query', answer: OVERVIEW },
    ...{ args: ['overview'], exitCode: 0, says: /Dead +1\n +order_unknown: 1/ },
  },
  {
    ...{ does: 'lists dead events', states: [dead(ID)], procedure: 'events.list', kind: 'query' },
    input: { state: 'dead', limit: 5 },
    answer: data({ items: [SHOWN], next: null, cut: null, notReadable: 0 }),
    ...{ args: ['events', 'list', '--state', 'dead', '--limit', '5'], exitCode: 0, says: /order_unknown/ },
  },
  {
    ...{ does: 'shows an event', states: [dead(ID)], procedure: 'events.get', kind: 'query', input: { id: ID } },
    ...{ answer: data({ ...SHOWN, ...DETAILS }), args: ['events', 'show', ID], exitCode: 0, says: /order_unknown/ },
  },
  {
    ...{ does: 'shows an event that is not there', procedure: 'events.get', kind: 'query', input: { id: OTHER } },
    ...{ answer: refusal(404, 'not_found'), args: ['events', 'show', OTHER], exitCode: 1, says: /\(not_found\)/ },
  },
  {
    ...{ does: 'asks what a replay would concern', states: [dead(ID)], procedure: 'events.replay', kind: 'mutation' },
    input: { ids: [ID], reason: 'dry run', dryRun: true, includeDone: false },
    answer: data({ replayId: null, matched: 1 }),
    ...{ args: ['events', 'replay', ID, '--dry-run'], exitCode: 0, says: /^1 event would be replayed/ },
  },
  {
    ...{ does: 'lists replays when there were none', procedure: 'replays.list', kind: 'query', input: {} },
    ...{ answer: data({ items: [], next: null }), args: ['replays', 'list'], exitCode: 0, says: /^No replays/ },
  },
  {
    does: 'shows a replay that is not there',
    ...{ procedure: 'replays.get', kind: 'query', input: { replayId: OTHER }, answer: refusal(404, 'not_found') },
    ...{ args: ['replays', 'show', OTHER], exitCode: 1, says: /\(not_found\)/ },
  },
  {
    does: 'cancels a replay that is not there',
    ...{ procedure: 'replays.cancel', kind: 'mutation', input: { replayId: OTHER }, answer: refusal(404, 'not_found') },
    ...{ args: ['replays', 'cancel', OTHER], exitCode: 1, says: /\(not_found\)/ },
  },
  {
    ...{ does: 'lists providers', procedure: 'providers.list', kind: 'query' },
    answer: data(
      eachLike({
        ...{
          name: string('acme'),
          scheme: string('stripe'),
          path: regex('^/api/webhooks/[a-z]+$', '/api/webhooks/acme'),
        },
        ...{ takesTests: boolean(true), deliveries: {}, oldestUnsettledSeconds: null, paused: null },
        secrets: eachLike({ id: string('newer'), notAfter: null, lastMatchedAt: null, matches: integer(0) }),
      }),
    ),
    ...{ args: ['providers', 'list'], exitCode: 0, says: /acme +newer +never/ },
  },
  {
    ...{ does: 'lists handlers when there are none', procedure: 'handlers.list', kind: 'query', answer: data([]) },
    ...{ args: ['handlers', 'list'], exitCode: 0, says: /^No handlers/ },
  },
  {
    ...{ does: 'lists refused deliveries when there were none', procedure: 'refusals.list', kind: 'query', input: {} },
    answer: data({ items: [], next: null, notKept: [] }),
    ...{ args: ['refused'], exitCode: 0, says: /^No refused deliveries/ },
  },
  {
    does: 'releases a receipt that is not parked',
    ...{ procedure: 'receipts.release', kind: 'mutation', input: { key: 'rcp_unknown', reason } },
    answer: refusal(404, 'receipt_not_parked'),
    ...{ args: ['receipts', 'release', 'rcp_unknown', ...REASON], exitCode: 1, says: /\(receipt_not_parked\)/ },
  },
  {
    does: 'verifies the audit log',
    states: [{ description: 'a provider was paused', parameters: { provider: 'shop', reason: 'an entry' } }],
    ...{ procedure: 'audit.verify', kind: 'query', input: {} },
    answer: data({ ok: true, entries: integer(2), brokenAt: null, last: ENTRY, next: null }),
    ...{ args: ['audit', 'verify'], exitCode: 0, says: /^2 entries, unchanged, none missing/ },
  },
  {
    ...{ does: 'closes a dead event', states: [dead(ID)], procedure: 'events.close', kind: 'mutation' },
    ...{ input: { id: ID, reason }, answer: data({ id: ID, state: 'closed' }) },
    ...{ args: ['events', 'close', ID, ...REASON], exitCode: 0, says: /^Closed/ },
  },
  {
    ...{ does: 'closes an event that is not there', procedure: 'events.close', kind: 'mutation' },
    ...{ input: { id: OTHER, reason }, answer: refusal(404, 'not_found') },
    ...{ args: ['events', 'close', OTHER, ...REASON], exitCode: 1, says: /\(not_found\)/ },
  },
  {
    ...{ does: 'pauses a provider', procedure: 'providers.pause', kind: 'mutation' },
    ...{ input: { provider: 'acme', reason }, answer: data({ provider: 'acme', paused: true }) },
    ...{ args: ['providers', 'pause', 'acme', ...REASON], exitCode: 0, says: /^Paused: events of acme/ },
  },
  {
    does: 'resumes a provider that is not paused',
    ...{ procedure: 'providers.resume', kind: 'mutation', input: { provider: 'shop', reason } },
    answer: refusal(409, 'provider_not_paused'),
    ...{ args: ['providers', 'resume', 'shop', ...REASON], exitCode: 1, says: /\(provider_not_paused\)/ },
  },
  {
    ...{ does: 'lists receipts of an order that has none', procedure: 'receipts.list', kind: 'query' },
    ...{ input: { limit: 5, orderId: 'ord_none' }, answer: data({ items: [], next: null }) },
    ...{ args: ['receipts', 'list', '--order', 'ord_none', '--limit', '5'], exitCode: 0, says: /^No receipts/ },
  },
  {
    does: 'lists the newest entry of the audit log',
    states: [{ description: 'a provider was paused', parameters: { provider: 'shop', reason: 'an entry' } }],
    ...{ procedure: 'audit.list', kind: 'query', input: { limit: 1 } },
    answer: data({
      items: [
        { at: time(), by: 'alice', action: 'providers.pause', reason: 'an entry', details: { provider: 'shop' } },
      ],
      next: regex(/^[0-9a-f]{24}$/, ID),
    }),
    ...{ args: ['audit', 'list', '--limit', '1'], exitCode: 0, says: /providers\.pause +an entry/ },
  },
  {
    ...{ does: 'asks with a token that is unknown', states: [STRANGER], procedure: 'overview', kind: 'query' },
    ...{ answer: UNKNOWN, args: ['overview'], exitCode: 1, says: /rejected this token/ },
  },
  {
    ...{ does: 'pauses a provider with a token that may only read', states: [READER] },
    ...{ procedure: 'providers.pause', kind: 'mutation', input: { provider: 'acme', reason } },
    ...{ answer: MAY_NOT, args: ['providers', 'pause', 'acme', ...REASON], exitCode: 1, says: /\(role_missing\)/ },
  },
]

describe('the command line', () => {
  it.each(COMMANDS)('$does', async ({ args, exitCode, says, ...call }) => {
    await (await contract).expectExchange(operatorExchange(call), async (url) => {
      const ran = await runCommand([...args, '--admin-url', url], { operatorToken: OPERATOR_TOKEN })
      expect(`${ran.stdout}${ran.stderr}`).toMatch(says)
      expect(ran.exitCode).toBe(exitCode)
    })
  })

  it('sends what the committed contract says', async () => {
    await using written = await contract
    await written.compareWithCommitted(process.env)
  })
})
