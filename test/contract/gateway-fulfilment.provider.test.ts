import * as errors from '@oncehook/fulfilment/errors'
import { createIdempotencyKeys, type KeyedRequest } from '@oncehook/fulfilment/idempotency-keys'
import { fulfilmentRouter } from '@oncehook/fulfilment/router'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { type RunningFulfilment, startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import type { ServiceCall } from '@oncehook/kernel/secrets/service-token'
import { newServiceKeyPair, type ServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { type Clock, systemClock } from '@oncehook/kernel/time/clock'
import { describe, expect, it } from 'vitest'
import { type ProcedureName, procedureOutputs } from '../../scripts/contracts/procedure-outputs.ts'
import { orderStates, receiptStates } from './order-states.ts'
import { contractsOf, CONTRACTS as FOLDER, readPact } from './pact-files.ts'
import { CONTENT } from './paid-orders.ts'
import { type FilteredRequest, type StateHandler, verifyContract } from './verify-contract.ts'
import { bytesOf } from './webhook-senders.ts'

const CONTRACTS = contractsOf('fulfilment')

/** The states of idempotency keys. */
function keyStates(fulfilment: RunningFulfilment) {
  const client = fulfilmentClient(fulfilment)
  const keys = createIdempotencyKeys(fulfilment.db, { ttlMs: 60_000, leaseMs: 60_000, encryption: NO_ENCRYPTION })
  return {
    'an order was made under a key': async (made: { idempotency: KeyedRequest; order: object }) => {
      expect(await client.orders.create.mutate(made)).toMatchObject({ replayed: false })
    },
    'another order was made under a key': async ({ idempotency }: { idempotency: KeyedRequest }) => {
      await client.orders.create.mutate({ order: CONTENT, idempotency: { ...idempotency, fingerprint: 'another' } })
    },
    'a request under a key is running': async ({ idempotency }: { idempotency: KeyedRequest }) => {
      expect(await keys.claim(idempotency, { run: 'a run', orderId: 'ord_of_a_run' })).toMatchObject({ run: 'a run' })
    },
  }
}

interface TokenSource {
  readonly keys: ServiceKeyPair
  readonly clock: Clock
  /** What the body of the call has at least. */
  readonly leastBytes: number
}

/** The largest call that fulfilment takes. */
const MOST_BYTES = 1_048_576

/** The call that the token of a request is bound to. The body is serialised again, as it is when it is sent, and filled up. */
function bindable(request: FilteredRequest, leastBytes: number): ServiceCall {
  const procedure = request.path.replace(/^\/trpc\//, '')
  const isOfOrders = procedure.startsWith('orders.')
  const called = (input: string | Buffer): ServiceCall => {
    const { owner = 'shop' } = JSON.parse(input.toString())
    return { procedure, input, ...(isOfOrders ? { subject: owner } : {}) }
  }
  if (request.method === 'GET') return called(request.query.input ?? '')
  const written = bytesOf(request.body)
  const body = Buffer.concat([written, Buffer.alloc(Math.max(0, leastBytes - written.length), ' ')])
  request.body = body
  request.headers['content-length'] = String(body.length)
  return called(body)
}

/** Makes each request one of a gateway, and the states that decide how it calls. */
function callerOf({ keys }: RunningFulfilment) {
  const usual = { keys, clock: systemClock, leastBytes: 0 }
  let next: TokenSource | null = usual
  return {
    async filter(request: FilteredRequest): Promise<void> {
      const source = next
      next = usual
      const call = bindable(request, source?.leastBytes ?? 0)
      if (source === null) delete request.headers.authorization
      else request.headers.authorization = `Bearer ${await testServiceTokens(source.keys, source).issue(call)}`
    },
    states: {
      'the token of the caller has expired': async () => {
        next = { ...usual, clock: { now: () => systemClock.now() - 3_600_000 } }
      },
      'the caller has another secret': async () => {
        next = { ...usual, keys: newServiceKeyPair() }
      },
      'the caller has no token': async () => {
        next = null
      },
      'the call is too large': async () => {
        next = { ...usual, leastBytes: MOST_BYTES + 1 }
      },
    },
  }
}

const WHO = 'Fulfilment breaks what it owes to the consumer gateway in calls that are too large for its contract'

/** What the schema of a procedure does not allow in its answer. Members that are new do no harm. */
function unpromisedIn(procedure: ProcedureName, data: unknown): string[] {
  const parsed = procedureOutputs[procedure].safeParse(data)
  const issues = parsed.error?.issues.filter(({ code }) => code !== 'unrecognized_keys') ?? []
  return issues.map(({ path, message }) => `${procedure} answers $.${path.join('.')}: ${message}`)
}

describe('fulfilment', () => {
  it('has a contract with the gateway, about every procedure', async () => {
    const pact = await readPact(`${FOLDER}/gateway-fulfilment.json`)
    expect(pact.consumer.name).toBe('gateway')
    const called = pact.interactions.map(({ request }) => request.path.replace(/^\/trpc\//, ''))
    expect([...new Set(called)].toSorted()).toEqual(Object.keys(fulfilmentRouter._def.procedures).toSorted())
    const written = JSON.stringify(pact.interactions)
    const codes = Object.values(errors).flatMap((error) => ('code' in error ? [error.code] : []))
    const unwritten = codes.filter((code) => !written.includes(`"${code}"`))
    // It needs more events than a contract should have.
    expect(unwritten, 'codes of fulfilment without an interaction of the consumer gateway').toEqual([
      'version_conflict',
    ])
  })

  it.each(CONTRACTS)('answers as $name says', async (contract) => {
    await using database = await testDatabase(process.env)
    await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name })
    const caller = callerOf(fulfilment)
    const states: Record<string, StateHandler> = {
      'nothing in particular': async () => undefined,
      ...orderStates(fulfilment),
      ...receiptStates(fulfilment),
      ...keyStates(fulfilment),
      ...caller.states,
    }
    // Pact compares only what the consumer has written down.
    const unpromised: string[] = []
    await verifyContract({
      contract,
      url: fulfilment.url,
      states,
      hear({ path, isOk, text }) {
        const procedure = path.replace('/trpc/', '').split('?', 1)[0] as ProcedureName
        if (isOk) unpromised.push(...unpromisedIn(procedure, JSON.parse(text).result.data))
      },
      filter: caller.filter,
    })
    if (unpromised.length > 0) {
      throw new Error(
        `Fulfilment breaks what it owes to the consumer gateway (${contract.name}):\n${unpromised.join('\n')}`,
      )
    }
  })

  // No contract should contain as much as these calls.
  it('takes the largest calls of the consumer gateway, but not every event of one order', async () => {
    await using database = await testDatabase(process.env)
    await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name })
    const client = fulfilmentClient(fulfilment)
    const longest = (text: string, index: number): string => `${text}_${index}`.padEnd(255, '_')
    await client.orders.put.mutate({ id: 'ord_busy', order: CONTENT })
    for (const [busy, count, refused] of [
      [{}, 500, { refused: 'order_unknown', retry: 'later' }],
      [{ orderId: 'ord_busy' }, 201, { refused: 'version_conflict', retry: 'now' }],
    ] as const) {
      const event = { type: 'payment.failed' as const, amount: 1999, currency: 'EUR', ifMatch: '*' }
      const events = Array.from({ length: count }, (_, at) => {
        const names = { provider: longest('acme', at), eventId: longest('evt', at), paymentId: longest('pay', at) }
        return { ...event, ...names, orderId: longest('ord', at), ...busy }
      })
      const { results } = await client.payments.applyEvents.mutate({ events }).catch((error: Error) => {
        throw new Error(`${WHO}: ${error.message}`)
      })
      expect(results.at(-1), WHO).toMatchObject(refused)
    }
    const empty = Buffer.byteLength(JSON.stringify({ id: 'ord_large', order: { ...CONTENT, note: '' } }))
    const order = { ...CONTENT, note: 'x'.repeat(MOST_BYTES - empty) }
    const read = { data: { httpStatus: 400, reason: 'invalid_request' } }
    const outcome = await client.orders.put.mutate({ id: 'ord_large', order }).catch((error: unknown) => error)
    expect(outcome, `${WHO}: the largest order that it may send is read`).toMatchObject(read)
  })
})
