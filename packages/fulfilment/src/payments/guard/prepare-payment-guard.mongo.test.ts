import { SettingsError } from '@oncehook/kernel/settings'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import { PAYMENT_INDEX } from '../../orders/stored/order-document.ts'
import { fulfilmentClient } from '../../testing/fulfilment-client.ts'
import { openPaymentPlace, type PaymentPlace } from '../../testing/payment-place.ts'
import { sampleEvent } from '../../testing/samples.ts'
import { startFulfilment } from '../../testing/start-fulfilment.ts'
import type { PaymentGuard } from './payment-reservation.ts'
import { arePaymentsReserved, reserveStoredPayments } from './stored-payments.ts'

const hasIndex = ({ orders }: PaymentPlace): Promise<boolean> => orders.indexExists(PAYMENT_INDEX)

const complete = ({ guardDeps }: PaymentPlace): Promise<void> =>
  reserveStoredPayments(guardDeps, new AbortController().signal)

async function problemsOf(prepared: Promise<void>): Promise<readonly string[]> {
  const error: unknown = await prepared.catch((thrown: unknown) => thrown)
  if (error instanceof SettingsError) return error.problems
  throw new Error('Nothing was refused')
}

/** The database answers as it does for a sharded collection. All indexes are missing, so the first try is for all. */
function refuseIndex({ database, appName }: PaymentPlace): Promise<AsyncDisposable> {
  return armFailPoint(database.uri, { commands: ['createIndexes'], appName, times: 2, how: { errorCode: 67 } })
}

async function payFirst(place: PaymentPlace): Promise<string> {
  const [orderId = ''] = await place.insertOrders(1)
  await place.apply([sampleEvent({ orderId })], { guard: 'index' })
  return orderId
}

describe('the guard of payments', () => {
  it('has the unique index from the start with PAYMENT_GUARD=index', async () => {
    await using place = await openPaymentPlace(process.env, 'index')
    expect(await hasIndex(place)).toBe(true)
    expect(await place.db.listCollections({ name: 'payments' }).toArray()).toEqual([])
  })

  it('needs no index with PAYMENT_GUARD=reservation if there are no orders yet', async () => {
    await using place = await openPaymentPlace(process.env, 'reservation')
    expect(await hasIndex(place)).toBe(false)
    expect(await arePaymentsReserved(place.db)).toBe(true)
  })

  it('has the index with PAYMENT_GUARD=reservation until all payments are reserved, and leaves it then', async () => {
    await using place = await openPaymentPlace(process.env, 'index')
    await payFirst(place)
    await place.orders.dropIndexes()
    await place.prepare('reservation')
    expect(await hasIndex(place)).toBe(true)
    expect(await arePaymentsReserved(place.db)).toBe(false)
    await complete(place)
    await place.prepare('reservation')
    expect(await hasIndex(place)).toBe(true)
    await place.orders.dropIndex(PAYMENT_INDEX)
    await place.prepare('reservation')
    expect(await hasIndex(place)).toBe(false)
  })

  it('has the index again with PAYMENT_GUARD=index, and its payments are to be reserved later', async () => {
    await using place = await openPaymentPlace(process.env, 'reservation')
    await place.prepare('index')
    expect(await hasIndex(place)).toBe(true)
    expect(await arePaymentsReserved(place.db)).toBe(false)
  })

  it.each<[PaymentGuard, RegExp]>([
    ['index', /^If orders is sharded, .* Add: PAYMENT_GUARD=reservation$/],
    ['reservation', /^PAYMENT_GUARD=reservation needs this index until .* unshard it and start again; /],
  ])('says what to do if PAYMENT_GUARD=%s needs the index and orders is sharded', async (guard, line) => {
    await using place = await openPaymentPlace(process.env, 'index')
    await payFirst(place)
    await place.orders.dropIndexes()
    await using _sharded = await refuseIndex(place)
    expect(await problemsOf(place.prepare(guard))).toEqual([
      `Index ${PAYMENT_INDEX} of orders cannot be created (CannotCreateIndex)`,
      expect.stringMatching(line),
    ])
  })
})

it('a service that changes to reservations makes up for those of its payments', async () => {
  await using place = await openPaymentPlace(process.env, 'index')
  const [before = '', after = ''] = await place.insertOrders(2)
  const start = (paymentGuard: PaymentGuard) =>
    startFulfilment({ uri: place.database.uri, database: place.database.name, paymentGuard })
  const pay = async (service: Awaited<ReturnType<typeof start>>, orderId: string): Promise<void> => {
    const { payments } = fulfilmentClient(service)
    const { results } = await payments.applyEvents.mutate({ events: [sampleEvent({ orderId })] })
    expect(results).toEqual([{ outcome: 'applied', version: 2 }])
  }
  const gauge = async ({ url }: { readonly url: string }): Promise<string | undefined> =>
    /^oncehook_payment_reservations_complete (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]
  {
    await using service = await start('index')
    await pay(service, before)
    expect(await gauge(service)).toBe(undefined)
    expect(await place.payments.countDocuments()).toBe(0)
  }
  await using service = await start('reservation')
  await pay(service, after)
  await expect.poll(() => gauge(service)).toBe('1')
  const reserved = (await place.payments.find().toArray()).map(({ orderId }) => orderId)
  expect(reserved.toSorted()).toEqual([before, after].toSorted())
})
