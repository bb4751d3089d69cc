import { randomUUID } from 'node:crypto'
import type { CommandStartedEvent, Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { ORDERS } from '../../orders/stored/order-document.ts'
import { createReceiptClaims, type ReceiptClaims } from '../../receipts/claims/receipt-claims.ts'
import { openPaymentPlace, type PaymentPlace } from '../../testing/payment-place.ts'
import { sampleEvent } from '../../testing/samples.ts'
import { PAYMENTS } from './payment-reservation.ts'

const LEASE_MS = 30_000

/** The commands that name no `_id`, and so go to every shard, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'find orders by index receipts_unsettled': 'a worker looks for receipts of any order that are due',
  'find orders by paidBy': 'an update met the unique index, which a sharded collection does not have',
}

/** What a command on orders or payments does, or null if it names an `_id` in each of its statements. */
function withoutId({ commandName, command }: CommandStartedEvent): string | null {
  const parts: readonly Document[] = command.documents ??
    command.updates?.map(({ q }: Document) => q) ?? [command.filter ?? command.query ?? {}]
  if (parts.every((part) => '_id' in part)) return null
  const by = typeof command.hint === 'string' ? `index ${command.hint}` : Object.keys(parts[0] ?? {}).join()
  return `${commandName} ${command[commandName]} by ${by}`
}

/** Runs something and resolves to the commands on orders and payments. */
async function commandsOf({ client }: PaymentPlace, act: () => Promise<unknown>): Promise<CommandStartedEvent[]> {
  const commands: CommandStartedEvent[] = []
  const note = (event: CommandStartedEvent): void => {
    if ([ORDERS, PAYMENTS].includes(event.command[event.commandName])) commands.push(event)
  }
  client.on('commandStarted', note)
  await act()
  client.off('commandStarted', note)
  return commands
}

const broadcasts = (commands: readonly CommandStartedEvent[]): string[] => [
  ...new Set(commands.map(withoutId).filter((one) => one !== null)),
]

async function payAndRefuse({ apply, insertOrders, orders }: PaymentPlace, guard: 'index' | 'reservation') {
  const [one = '', other = '', third = ''] = await insertOrders(3)
  const paymentId = `pay_${randomUUID()}`
  const pay = (orderId: string) => apply([sampleEvent({ orderId, paymentId, ifMatch: '*' })], { guard })
  expect(await pay(one)).toMatchObject([{ outcome: 'applied' }])
  expect(await pay(one)).toMatchObject([{ outcome: 'duplicate' }])
  expect(await pay(other)).toMatchObject([{ refused: 'payment_used_elsewhere' }])
  await apply([sampleEvent({ orderId: third, type: 'payment.failed' })], { guard })
  await orders.updateOne({ _id: third }, { $inc: { version: 1 } })
  await apply([sampleEvent({ orderId: third, eventId: randomUUID(), ifMatch: '*' })], { guard })
}

/** Every way in which a claim on receipts can end. */
async function claimAndSettle(claims: ReceiptClaims): Promise<void> {
  const [first, second, third, ...others] = await claims.claim(10)
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are too few receipts')
  await claims.settle([
    { claim: first, settlement: { state: 'sent' } },
    { claim: second, settlement: { state: 'owed', code: 'timeout', waitMs: 60_000 } },
    { claim: third, settlement: { state: 'parked', code: 'refused' } },
    ...others.map((claim) => ({ claim, settlement: { state: 'waiting', keyId: 'k', attempts: 0 } as const })),
  ])
  await claims.putBack([{ claims: [first], claimId: 'none' }])
  await claims.claimDeferred(10, [])
  await claims.claimWaiting(10, ['k'])
}

describe('commands of fulfilment on orders and payments', () => {
  it.each([
    ['index', ['find orders by paidBy']],
    ['reservation', []],
  ] as const)('that apply events name an _id, with the guard %s', async (guard, expected) => {
    await using place = await openPaymentPlace(process.env, guard)
    const commands = await commandsOf(place, () => payAndRefuse(place, guard))
    expect(commands.length).toBeGreaterThan(10)
    expect(broadcasts(commands)).toEqual(expected)
    for (const name of expected) expect(EXCEPTIONS).toHaveProperty(name)
  })

  it('that claim and settle receipts name an _id, except the search for those that are due', async () => {
    await using place = await openPaymentPlace(process.env, 'reservation')
    const ids = await place.insertOrders(4)
    await place.apply(ids.map((orderId) => sampleEvent({ orderId })))
    const options = { leaseMs: LEASE_MS, maxWaitMs: 900_000, newClaimId: randomUUID }
    const commands = await commandsOf(place, () => claimAndSettle(createReceiptClaims(place.db, options)))
    expect(commands.length).toBeGreaterThan(5)
    expect(broadcasts(commands)).toEqual(['find orders by index receipts_unsettled'])
    for (const name of broadcasts(commands)) expect(EXCEPTIONS).toHaveProperty(name)
  })
})
