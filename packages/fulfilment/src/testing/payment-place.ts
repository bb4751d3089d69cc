import { randomUUID } from 'node:crypto'
import { systemClock } from '@oncehook/kernel/clock'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { type Collection, type Db, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { newOrder, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { type ApplyDeps, applyEvents } from '../payments/apply-events.ts'
import type { ApplyResult } from '../payments/decide-order.ts'
import { PAYMENTS, type PaymentGuard, type PaymentReservation } from '../payments/guard/payment-reservation.ts'
import { preparePaymentGuard } from '../payments/guard/prepare-payment-guard.ts'
import type { StoredPaymentsDeps } from '../payments/guard/stored-payments.ts'
import type { PaymentEvent } from '../payments/payment-event.ts'
import { OWING_OUTBOX } from './owing-outbox.ts'
import { sampleOrder } from './samples.ts'

/** A database for payments, prepared for a guard, and what tests do there. */
export interface PaymentPlace extends AsyncDisposable {
  readonly database: TestDatabase
  readonly appName: string
  /** Emits command events. */
  readonly client: MongoClient
  readonly db: Db
  readonly orders: Collection<OrderDocument>
  readonly payments: Collection<PaymentReservation>
  readonly guardDeps: StoredPaymentsDeps
  readonly lines: readonly Record<string, unknown>[]
  readonly prepare: (guard: PaymentGuard) => Promise<void>
  /** Inserts this number of unpaid sample orders. */
  readonly insertOrders: (count: number) => Promise<string[]>
  /** Applies events as a process does. Default: with reservations. */
  readonly apply: (events: readonly PaymentEvent[], deps?: Partial<ApplyDeps>) => Promise<ApplyResult[]>
}

/** Opens a database that is prepared for a guard. */
export async function openPaymentPlace(env: NodeJS.ProcessEnv, guard: PaymentGuard): Promise<PaymentPlace> {
  await using starting = new AsyncDisposableStack()
  const database = starting.use(await testDatabase(env))
  const appName = `payments-${randomUUID()}`
  const client = starting.adopt(
    await new MongoClient(database.uri.reveal(), { appName, monitorCommands: true }).connect(),
    (connected) => connected.close(),
  )
  const db = client.db(database.name)
  const { logger, lines } = memoryLogger()
  const errors = createDatabaseErrors(new Registry())
  const guardDeps = { db, errors, logger, newPassId: randomUUID }
  const prepare = (wanted: PaymentGuard) => preparePaymentGuard({ ...guardDeps, guard: wanted, others: [] })
  await prepare(guard)
  const orders = db.collection<OrderDocument>(ORDERS)
  const stack = starting.move()
  return {
    ...{ database, appName, client, db, orders, guardDeps, lines, prepare },
    payments: db.collection<PaymentReservation>(PAYMENTS),
    async insertOrders(count) {
      const ids = Array.from({ length: count }, () => `o_${randomUUID()}`)
      await orders.insertMany(ids.map((id) => newOrder(id, sampleOrder(), new Date())))
      return ids
    },
    apply: (events, deps = {}) =>
      applyEvents(
        {
          ...{ db, errors, logger, clock: systemClock, newCallId: randomUUID, receipts: OWING_OUTBOX },
          ...{ guard: 'reservation', ...deps },
        },
        events,
      ),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** What happens around a command of `db.command`: run something before or after it, or fail. */
export interface AroundCommand {
  readonly before?: (name: string, collection: unknown) => Promise<void> | void
  readonly after?: (name: string, collection: unknown) => Promise<void> | void
}

/** A database that does more around each of its raw commands. */
export function dbAround(db: Db, { before, after }: AroundCommand): Db {
  return new Proxy(db, {
    get(target, member) {
      if (member !== 'command') return Reflect.get(target, member).bind(target)
      return async (command: object) => {
        const [[name, collection] = ['', '']] = Object.entries(command)
        await before?.(name, collection)
        const reply = await target.command(command)
        await after?.(name, collection)
        return reply
      }
    },
  })
}
