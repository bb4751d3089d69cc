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

const { regex } = MatchersV3

const contract = openConsumerContract('cli', 'operator-api')
const ID = '6920000000000000000000a1'
const OTHER = '6920000000000000000000a2'
const REASON = ['--reason', 'the order was paid by hand']
const reason = REASON[1]

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
