import { afterEach, describe, expect, it, vi } from 'vitest'
import { createOperatorClient } from '../../packages/console/src/api/operator-client.ts'
import { openConsumerContract } from './consumer-contract.ts'
import { data } from './gateway-contract.ts'
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

const contract = openConsumerContract('console', 'operator-api')
afterEach(() => void vi.unstubAllGlobals())

type Client = ReturnType<typeof createOperatorClient>

interface PageCall extends OperatorCall {
  readonly act: (client: Client) => Promise<unknown>
  /** The refusal that the page gets. Absent: the call succeeds. */
  readonly refused?: object
}

const ID = '6920000000000000000000b1'
const reason = 'the order was paid by hand'
const CALLS: readonly PageCall[] = [
  {
    ...{ does: 'shows an overview', states: [dead('6920000000000000000000b0')] },
    ...{ procedure: 'overview', kind: 'query', answer: OVERVIEW },
    act: ({ overview }) => overview.query(),
  },
  {
    ...{ does: 'closes a dead event', states: [dead(ID)], procedure: 'events.close', kind: 'mutation' },
    ...{ input: { id: ID, reason }, answer: data({ id: ID, state: 'closed' }) },
    act: ({ events }) => events.close.mutate({ id: ID, reason }),
  },
  {
    ...{ does: 'pauses a provider', procedure: 'providers.pause', kind: 'mutation' },
    ...{ input: { provider: 'shop', reason }, answer: data({ provider: 'shop', paused: true }) },
    act: ({ providers }) => providers.pause.mutate({ provider: 'shop', reason }),
  },
  {
    ...{ does: 'lists no receipts', procedure: 'receipts.list', kind: 'query' },
    ...{ input: { orderId: 'ord_none', limit: 100 }, answer: data({ items: [], next: null }) },
    act: ({ receipts }) => receipts.list.query({ orderId: 'ord_none', limit: 100 }),
  },
  {
    ...{ does: 'asks with a token that is unknown', states: [STRANGER], procedure: 'overview', kind: 'query' },
    ...{ answer: UNKNOWN, act: ({ overview }) => overview.query(), refused: { reason: 'unauthenticated' } },
  },
  {
    ...{ does: 'pauses a provider with a token that may only read', states: [READER] },
    ...{ procedure: 'providers.pause', kind: 'mutation', input: { provider: 'acme', reason }, answer: MAY_NOT },
    act: ({ providers }) => providers.pause.mutate({ provider: 'acme', reason }),
    refused: { reason: 'role_missing' },
  },
]

describe("the operators' page", () => {
  it.each(CALLS)('$does', async ({ act, refused, ...call }) => {
    const real = globalThis.fetch
    await (await contract).expectExchange(operatorExchange(call), async (url) => {
      // In a browser, the page and the operator API have one address.
      const there: typeof fetch = (input, init) => real(new URL(String(input), url), init)
      vi.stubGlobal('fetch', there)
      const acted = act(createOperatorClient(() => OPERATOR_TOKEN))
      if (refused === undefined) expect(await acted).toBeTypeOf('object')
      else await expect(acted).rejects.toMatchObject({ data: refused })
    })
  })

  it('sends what the committed contract says', async () => {
    await using written = await contract
    await written.compareWithCommitted(process.env)
  })
})
