import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { type CommandStartedEvent, MongoClient } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { RefusedDelivery } from './describe-refusal.ts'
import { createRefusals, REFUSAL_INDEXES, REFUSALS } from './refusals.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
await ensureIndexes(database.db, [REFUSAL_INDEXES])
const watched = await new MongoClient(database.uri.reveal(), { monitorCommands: true }).connect()
stack.defer(() => watched.close())
const commands: string[] = []
watched.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
  if (command[commandName] === REFUSALS) commands.push(commandName)
})
const stored = database.db.collection(REFUSALS)

beforeEach(async () => {
  await stored.deleteMany()
  commands.length = 0
})

const provider: RefusedDelivery['provider'] = { name: 'acme', secrets: [], signedHeaders: [], explain: () => [] }

/** The records of one gateway, written when the test wants it. */
function open(db = watched.db(database.name)) {
  const { logger, lines } = memoryLogger()
  const counted = { too_many: 0, not_stored: 0 }
  const refusals = createRefusals({
    ...{ db, logger, flushMs: 3_600_000, providers: () => new Map(), clock: { now: Date.now } },
    onNotKept: (why, times) => {
      counted[why] += times
    },
  })
  return {
    ...{ lines, counted, stop: refusals.stop },
    refuse(why: string | null, { code = 'signature_invalid', address = '192.0.2.1' } = {}): string {
      const requestId = randomUUID()
      const refused = { provider, address, requestId, rawHeaders: [], rawBody: undefined, url: undefined }
      refusals.note(refused, { code, status: 401, message: 'no', why })
      return requestId
    },
  }
}

const KINDS = [
  ...[['signature_invalid', 'signature_mismatch'] as const, ['signature_invalid', 'header_missing'] as const],
  ...[['signature_invalid', 'header_malformed'] as const, ['signature_invalid', 'timestamp_outside_window'] as const],
  ...['rate_limited', 'payload_too_large', 'unsupported_media_type', 'invalid_body', 'event_invalid'].map(
    (code) => [code, null] as const,
  ),
  ...['request_timeout', 'bad_request', 'something_else'].map((code) => [code, null] as const),
]
const RECORDS = { status: { $exists: true } }

describe('5,000 forgeries at once', () => {
  it('cost two commands, and leave a few records and a count', async () => {
    const gateway = open()
    const first = gateway.refuse('header_missing')
    for (let time = 0; time < 5_000; time += 1) gateway.refuse('signature_mismatch')
    const other = gateway.refuse('signature_mismatch', { address: '198.51.100.1' })
    await gateway.stop()
    // One takes slots for each kind, one writes everything.
    expect(commands).toEqual(['findAndModify', 'findAndModify', 'update'])
    const kept = await stored.countDocuments({ ...RECORDS, why: 'signature_mismatch' })
    expect(kept).toBeLessThan(100)
    expect(await stored.findOne({ count: { $gt: 0 } })).toMatchObject({ count: 5_001 - kept, provider: 'acme' })
    expect(gateway.counted).toEqual({ too_many: 5_001 - kept, not_stored: 0 })
    for (const requestId of [first, other]) expect(await stored.countDocuments({ requestId })).toBe(1)
  })
})

describe('refusals of every kind for a long time', () => {
  it('are never more than 1,000 records, and no kind replaces another', async () => {
    const before = open()
    const rare = before.refuse(null, { code: 'event_invalid' })
    await before.stop()
    let last = ''
    for (let round = 0; round < 12; round += 1) {
      const gateway = open()
      for (const [code, why] of KINDS.filter(([one]) => one !== 'event_invalid')) {
        for (let network = 0; network < 20; network += 1) {
          last = gateway.refuse(why, { code, address: `192.0.${network}.1` })
        }
      }
      await gateway.stop()
    }
    expect(await stored.countDocuments(RECORDS)).toBe(901)
    expect(await stored.countDocuments({ ...RECORDS, reason: 'something_else' })).toBe(40)
    for (const requestId of [rare, last]) expect(await stored.countDocuments({ requestId })).toBe(1)
  })

  it('of several gateways at the same time do not replace each other', async () => {
    const gateways = [open(), open(), open()]
    for (const gateway of gateways) for (let time = 0; time < 10; time += 1) gateway.refuse('signature_mismatch')
    await Promise.all(gateways.map(({ stop }) => stop()))
    expect(await stored.countDocuments(RECORDS)).toBe(30)
  })

  it('expire', async () => {
    const gateway = open()
    gateway.refuse('signature_mismatch')
    await gateway.stop()
    const at = await stored.find().toArray()
    expect(at).toHaveLength(2)
    for (const { expireAt } of at) {
      expect(expireAt.getTime() - Date.now()).toBeGreaterThan(6 * 86_400_000)
      expect(expireAt.getTime() - Date.now()).toBeLessThanOrEqual(7 * 86_400_000)
    }
  })
})

describe('an unavailable database', () => {
  it('loses the records, which are counted', async () => {
    const away = new MongoClient('mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50')
    const gateway = open(away.db('x'))
    for (let time = 0; time < 3; time += 1) gateway.refuse('signature_mismatch')
    await gateway.stop()
    expect(gateway.counted).toEqual({ too_many: 0, not_stored: 3 })
    expect(gateway.lines).toMatchObject([{ msg: 'refusals.dropped', records: 3 }])
    await away.close()
  })
})
