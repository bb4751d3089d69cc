import { on } from 'node:events'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { Binary, type Collection, type CommandSucceededEvent, type Document, MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { SentEvent } from './support/load/webhook-source.ts'
import { closingCheck, NO_FAULT, type RowEvidence } from './support/stack/closing-check.ts'
import type { EventRecord, OrderRecord, ReceiptLine } from './support/stack/records.ts'

/** A run in which nothing went wrong. A test may change parts of it before the check. */
interface Run {
  readonly client: MongoClient
  readonly events: Collection<EventRecord>
  readonly orderRecords: Collection<OrderRecord>
  readonly log: SentEvent[]
  readonly lines: ReceiptLine[]
  readonly problems: string[]
  readonly overdue: string[]
  evidence: RowEvidence
  /** Runs after the check has read the events for the first time. */
  meanwhile: () => Promise<unknown>
}

const PAID = 'ord_paid'
const UNPAID = 'ord_unpaid'

function sent(id: string, members: Partial<PaymentEvent> = {}): SentEvent {
  const type = 'payment.succeeded'
  const event = { id, type, paymentId: `pay_${id}`, orderId: PAID, amount: 1, currency: 'EUR', occurredAt: 0 } as const
  const message = { eventId: id, body: Buffer.from(id), headers: {} }
  return { event: { ...event, ...members }, message, tampered: undefined, answers: [200] } as unknown as SentEvent
}

function recordOf({ event, message }: SentEvent): EventRecord {
  const attempts = [{ outcome: 'applied', code: null }]
  const counts = { starts: 1, deliveries: 1, mismatches: 0, reason: null }
  const { id: eventId, type } = event
  return {
    provider: 'acme',
    eventId,
    handler: 'fulfilment',
    type,
    state: 'done',
    raw: new Binary(message.body),
    attempts,
    ...counts,
  }
}

function orderOf(_id: string, eventIds: readonly string[]): OrderRecord {
  const isPaid = eventIds.length > 0
  const payment = { id: 'pay_evt_1', provider: 'acme' }
  return {
    ...{ _id, version: 1 + eventIds.length, status: isPaid ? 'paid' : 'pending' },
    ...{ access: isPaid ? 'unlocked' : 'locked', payment: isPaid ? payment : null },
    ...{
      applied: [],
      paidBy: eventIds.map((eventId) => ({ marker: { provider: 'acme', eventId, outcome: 'applied' } })),
    },
    receipts: isPaid ? [{ key: 'key_1', paymentId: payment.id, state: 'sent' }] : [],
  }
}

/** Changes a run, checks it, and returns the reported problems. */
async function report(plant: (run: Run) => unknown): Promise<string[]> {
  await using database = await testDatabase(process.env)
  const options = { monitorCommands: true }
  await using client = await new MongoClient(database.uri.reveal(), options).connect()
  const db = client.db(database.name)
  const [first, forged] = [sent('evt_1'), { ...sent('evt_forged'), tampered: 'body' as const, answers: [401] }]
  const line = { key: 'key_1', orderId: PAID, paymentId: 'pay_evt_1' }
  const run: Run = {
    client,
    ...{ events: db.collection<EventRecord>('events'), orderRecords: db.collection<OrderRecord>('orders') },
    ...{ log: [first, forged], lines: [line], problems: [], overdue: [] },
    ...{ evidence: { struck: NO_FAULT, volume: 1 }, meanwhile: async () => undefined },
  }
  await run.events.insertOne(recordOf(first))
  await run.orderRecords.insertMany([orderOf(PAID, ['evt_1']), orderOf(UNPAID, [])])
  await plant(run)
  const { events, orderRecords, log, lines, problems, overdue, evidence } = run
  const stack = {
    ...{ events, orderRecords, problems: () => problems, overdueClaims: () => overdue },
    async receipts() {
      await run.meanwhile()
      return lines
    },
  }
  return await closingCheck(stack, log, evidence)
}

/** Resolves when the check has read the events for the first time. */
async function untilRead({ client, events }: Run): Promise<void> {
  const answered = on(client, 'commandSucceeded') as AsyncIterable<[CommandSucceededEvent]>
  for await (const [{ reply }] of answered) {
    if ((reply as Document | undefined)?.cursor?.ns === events.namespace) return
  }
}

const ONE = { eventId: 'evt_1' }
const paid = (run: Run, update: Document) => run.orderRecords.updateOne({ _id: PAID }, update)
const one = (run: Run, update: Document) => run.events.updateOne(ONE, update)
const longAgo = () => new Date(Date.now() - 3_600_000)
const audited = (run: Run, entry: Document) => run.events.db.collection('audit').insertOne(entry)
const idOf = async (run: Run) => String((await run.events.findOne(ONE))?._id)

describe('the closing check', () => {
  it('reports nothing if nothing is wrong', async () => {
    expect(await report(() => undefined)).toEqual([])
  })

  const violations: readonly (readonly [string, (run: Run) => unknown, string])[] = [
    ['a record is missing', (run) => run.events.deleteOne(ONE), 'I1 evt_1 was answered 200 and has no record'],
    ['other bytes', (run) => one(run, { $set: { raw: new Binary(Buffer.from('x')) } }), 'I1 evt_1 is stored with'],
    ['an event is dead', (run) => one(run, { $set: { state: 'dead', reason: 'x' } }), 'I1 evt_1 is dead (x)'],
    ['two records', (run) => run.events.insertOne(recordOf(sent('evt_1'))), 'I2 evt_1 has 2 records'],
    [
      'an event is applied twice',
      (run) => paid(run, { $push: { applied: { provider: 'acme', eventId: 'evt_1', outcome: 'applied' } } }),
      `I3 an event is applied twice to ${PAID}`,
    ],
    ['a payment without effect', (run) => paid(run, { $set: { status: 'pending' } }), `I3 ${PAID} is pending`],
    ['no receipt', (run) => run.lines.splice(0), `I4 ${PAID} is paid, owes 1 receipts, 0 were sent`],
    [
      'one receipt, sent twice',
      (run) => {
        run.evidence = { ...run.evidence, receiptsOnce: true }
        run.lines.push(...run.lines)
      },
      `I4 ${PAID} is paid, owes 1 receipts, 2 were sent`,
    ],
    ['a paid order that is locked', (run) => paid(run, { $set: { access: 'locked' } }), `I5 ${PAID} is locked`],
    ['a record of nothing', (run) => run.events.insertOne(recordOf(sent('evt_2'))), 'I6 evt_2 was never sent'],
    ['an effect without a record', (run) => run.events.deleteOne(ONE), `I6 ${PAID} shows evt_1 without a record`],
    [
      'a forged delivery is stored',
      (run) => run.events.insertOne(recordOf(sent('evt_forged'))),
      'I7 evt_forged is spoiled and was taken',
    ],
    [
      'a claim that ended',
      (run) => one(run, { $set: { state: 'processing', claim: 'of a dead process', dueAt: longAgo() } }),
      'I8 evt_1 is in process, and its claim has ended',
    ],
    ['an event was left alone', (run) => run.overdue.push('evt_1'), 'I8 evt_1 was left alone for long'],
    [
      'two verdicts',
      (run) => one(run, { $push: { attempts: { outcome: 'applied', code: null } } }),
      'I9 evt_1 was settled 2 times and made due again 0 times',
    ],
    [
      'a replay without an audit entry',
      (run) => one(run, { $set: { replays: [{ by: 'alice', reason: 'because' }] } }),
      'I9 evt_1 was replayed, and the audit log has no entry',
    ],
    [
      'a revival without an audit entry',
      async (run) => {
        await audited(run, { action: 'events.revive', by: 'provider:acme', reason: null, details: { id: 'other' } })
        await one(run, { $set: { again: { revivals: 1 } } })
      },
      'I9 evt_1 was revived 1 times, and the audit log has fewer entries',
    ],
    [
      'a closing that was refused',
      async (run) => {
        const details = { id: await idOf(run), refused: 'conflict' }
        await audited(run, { action: 'events.close', by: 'alice', reason: 'because', details })
        await one(run, { $set: { state: 'closed' } })
      },
      'I9 evt_1 was closed, and the audit log has no entry',
    ],
    [
      'a settled record changes meanwhile',
      (run) => {
        const isRead = untilRead(run)
        run.meanwhile = async () => {
          await isRead
          await one(run, { $inc: { starts: 1 } })
        }
      },
      'I9 evt_1 was settled and changed afterwards',
    ],
    ['a service crashed', (run) => run.problems.push('gateway: crashed'), 'I10 gateway: crashed'],
    [
      'the fault did not strike',
      (run) => {
        run.evidence = { struck: { 'a kill': 0 }, volume: 1 }
      },
      'I11 it never came to this: a kill',
    ],
    [
      'too little load',
      (run) => {
        run.evidence = { struck: NO_FAULT, volume: 2 }
      },
      'I11 1 deliveries were accepted, 2 are the least',
    ],
  ]

  it.each(violations)('reports it: %s', async (_, plant, problem) => {
    expect(await report(plant)).toContainEqual(expect.stringContaining(problem))
  })

  it('accepts a closing, a replay and a revival that the audit log names', async () => {
    const reported = await report(async (run) => {
      const replays = [{ by: 'alice', reason: 'because' }]
      const attempts = Array(3).fill({ outcome: 'applied', code: null })
      await one(run, { $set: { state: 'closed', again: { revivals: 1 }, replays, attempts } })
      const details = { id: await idOf(run) }
      await audited(run, { action: 'events.replay', ...replays[0] })
      await audited(run, { action: 'events.revive', by: 'provider:acme', reason: null, details })
      await audited(run, { action: 'events.close', by: 'alice', reason: 'because', details })
      await run.orderRecords.deleteMany({})
      run.lines.splice(0)
    })
    expect(reported).toEqual([])
  })
})
