import { createIdempotencyKeys, type KeyedRequest } from '@oncehook/fulfilment/idempotency-keys'
import { ORDERS, type OrderDocument } from '@oncehook/fulfilment/orders/stored/order-document'
import { sealMembers } from '@oncehook/fulfilment/orders/stored/order-encryption'
import { fulfilmentRouter } from '@oncehook/fulfilment/router'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { type RunningFulfilment, startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import type { ServiceCall } from '@oncehook/kernel/secrets/service-token'
import { newServiceKeyPair, type ServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { type Clock, systemClock } from '@oncehook/kernel/time/clock'
import { describe, expect, it } from 'vitest'
import { type ProcedureName, procedureOutputs } from '../../scripts/contracts/procedure-outputs.ts'
import { contractsOf, CONTRACTS as FOLDER, readPact } from './pact-files.ts'
import { CONTENT, changeReceipt, parkReceipt, payOrder } from './paid-orders.ts'
import { type FilteredRequest, type StateHandler, verifyContract } from './verify-contract.ts'
import { bytesOf } from './webhook-senders.ts'

const EVERY_MEMBER = { ...CONTENT, email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }
const CONTRACTS = contractsOf('fulfilment')

interface Named {
  readonly name: string
}

/** The states of orders. Real calls create them. */
function orderStates(fulfilment: RunningFulfilment) {
  const client = fulfilmentClient(fulfilment)
  const orders = fulfilment.db.collection<OrderDocument>(ORDERS)
  return {
    'there is no order': async ({ orderId }: { orderId: string }) => {
      expect(await orders.countDocuments({ _id: orderId })).toBe(0)
    },
    'there is an order': async ({ orderId: id, version }: { orderId: string; version: number }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      for (let at = 2; at <= version; at += 1) {
        await client.orders.put.mutate({ id, order: { ...CONTENT, note: `version ${at}` } })
      }
      expect(await client.orders.get.query({ id })).toMatchObject({ version, status: 'pending' })
    },
    'there is an order of a customer': async ({ orderId: id, customerId }: { orderId: string; customerId: string }) => {
      await client.orders.put.mutate({ id, order: { ...CONTENT, customerId } })
    },
    'an order was paid': ({ name }: Named) => payOrder(fulfilment, name),
    'the payment of an order failed': async ({ name }: Named) => {
      await client.orders.put.mutate({ id: `ord_${name}`, order: CONTENT })
      const event = { provider: 'acme', eventId: `evt_${name}_failed`, type: 'payment.failed' as const }
      const payment = { paymentId: `pay_${name}_failed`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR' }
      const { results } = await client.payments.applyEvents.mutate({
        events: [{ ...event, ...payment, ifMatch: '"1"' }],
      })
      expect(results).toEqual([{ outcome: 'applied', version: 2 }])
    },
    'an order with every member was paid': ({ name }: Named) => payOrder(fulfilment, name, EVERY_MEMBER),
    'an order was deleted': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect(await client.orders.delete.mutate({ id })).toEqual({ deleted: true })
    },
    'an order is encrypted by a key that is gone': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      const { email } = sealMembers(id, { email: 'a@example.com' }, createTestKeys().encryption('gone'))
      expect((await orders.updateOne({ _id: id }, { $set: { email } })).modifiedCount).toBe(1)
    },
    'an order cannot be shown': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect((await orders.updateOne({ _id: id }, { $unset: { items: '' } })).modifiedCount).toBe(1)
    },
    'an order is damaged': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect((await orders.updateOne({ _id: id }, { $unset: { applied: '' } })).modifiedCount).toBe(1)
    },
    'a receipt is parked': ({ name }: Named) => parkReceipt(fulfilment, name),
    'a receipt was sent': async ({ name, key }: Named & { key?: string }) => {
      await payOrder(fulfilment, name)
      await changeReceipt(fulfilment, name, key === undefined ? {} : { key })
    },
    'a receipt is owed': async ({ name }: Named) => {
      await payOrder(fulfilment, name)
      // Within the longest wait of a receipt. One that is due later counts as due now: it is a sign of a wrong clock.
      const inTenMinutes = new Date(Date.now() + 600_000)
      await changeReceipt(fulfilment, name, { state: 'owed', attempts: 0, sentAt: null, dueAt: inTenMinutes })
    },
  }
}

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
}

/** The call that the token of a request is bound to. The body is serialised again, as it is when it is sent. */
function bindable(request: FilteredRequest): ServiceCall {
  const procedure = request.path.replace(/^\/trpc\//, '')
  if (request.method === 'GET') return { procedure, input: request.query.input ?? '' }
  const body = bytesOf(request.body)
  request.body = body
  request.headers['content-length'] = String(body.length)
  return { procedure, input: body }
}

/** The token of the next request, and the states that decide it. */
function tokenStates({ keys }: RunningFulfilment) {
  const usual = { keys, clock: systemClock }
  let next: TokenSource | null = usual
  return {
    async take(call: ServiceCall): Promise<string | null> {
      const source = next
      next = usual
      return source === null ? null : testServiceTokens(source.keys, { clock: source.clock }).issue(call)
    },
    states: {
      'the token of the caller has expired': async () => {
        next = { keys, clock: { now: () => systemClock.now() - 3_600_000 } }
      },
      'the caller has another secret': async () => {
        next = { ...usual, keys: newServiceKeyPair() }
      },
      'the caller has no token': async () => {
        next = null
      },
    },
  }
}

const WHO = 'Fulfilment breaks what it owes to the consumer gateway in calls that are too large for a contract'

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
  })

  it.each(CONTRACTS)('answers as $name says', async (contract) => {
    await using database = await testDatabase(process.env)
    await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name })
    const tokens = tokenStates(fulfilment)
    const states: Record<string, StateHandler> = {
      'nothing in particular': async () => undefined,
      ...orderStates(fulfilment),
      ...keyStates(fulfilment),
      ...tokens.states,
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
      filter: async (request) => {
        const token = await tokens.take(bindable(request))
        if (token === null) delete request.headers.authorization
        else request.headers.authorization = `Bearer ${token}`
      },
    })
    if (unpromised.length > 0) {
      throw new Error(
        `Fulfilment breaks what it owes to the consumer gateway (${contract.name}):\n${unpromised.join('\n')}`,
      )
    }
  })

  // No contract should contain as much as these calls.
  it('refuses, for the consumer gateway , events of one order that are too many, and a call that is too large', async () => {
    await using database = await testDatabase(process.env)
    await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name })
    const client = fulfilmentClient(fulfilment)
    await client.orders.put.mutate({ id: 'ord_busy', order: CONTENT })
    const payment = { paymentId: 'pay_busy', orderId: 'ord_busy', amount: 1999, currency: 'EUR', ifMatch: '"1"' }
    const event = { provider: 'acme', type: 'payment.failed' as const, ...payment }
    const events = Array.from({ length: 201 }, (_, index) => ({ ...event, eventId: `evt_${index}` }))
    const { results } = await client.payments.applyEvents.mutate({ events })
    expect(results.at(-1), WHO).toEqual({ refused: 'version_conflict', retry: 'now' })
    const large = { ...CONTENT, note: 'x'.repeat(1_048_576) }
    const refused = client.orders.put.mutate({ id: 'ord_large', order: large })
    const data = { httpStatus: 413, reason: 'payload_too_large', retry: 'never' }
    await expect(refused, WHO).rejects.toMatchObject({ data })
  })
})
