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
function open({ db = watched.db(database.name), now = Date.now } = {}) {
  const { logger, lines } = memoryLogger()
  const counted = { too_many: 0, not_stored: 0 }
  const refusals = createRefusals({
    ...{ db, logger, flushMs: 3_600_000, clock: { now } },
    onNotKept: (why, times) => {
      counted[why] += times
    },
  })
  return {
    ...{ lines, counted, stop: refusals.stop },
    refuse(why: string | null, { code = 'signature_invalid' } = {}): string {
      const requestId = randomUUID()
      const refused = { provider, address: '192.0.2.1', requestId, rawHeaders: [], rawBody: undefined, url: undefined }
      refusals.note(refused, { code, status: 401, message: 'no', why })
      return requestId
    },
  }
}

const RECORDS = { status: { $exists: true } }

describe('5,000 forgeries at once', () => {
  it('cost one command, and leave a few records and a count', async () => {
    const gateway = open()
    const first = gateway.refuse('header_missing')
    for (let time = 0; time < 5_000; time += 1) gateway.refuse('signature_mismatch')
    await gateway.stop()
    expect(commands).toEqual(['update'])
    const kept = await stored.countDocuments({ ...RECORDS, why: 'signature_mismatch' })
    expect(kept).toBe(20)
    expect(await stored.findOne({ count: { $gt: 0 } })).toMatchObject({ count: 5_000 - kept, provider: 'acme' })
    expect(gateway.counted).toEqual({ too_many: 5_000 - kept, not_stored: 0 })
    expect(await stored.countDocuments({ requestId: first })).toBe(1)
  })
})

describe('refusals of one kind for a long time', () => {
  it('are the newest 100 of each process, replace no other kind, and expire', async () => {
    let now = Date.now()
    const gateways = [open({ now: () => now }), open({ now: () => now })]
    const rare = gateways[0]?.refuse(null, { code: 'event_invalid' })
    let last = ''
    for (let round = 0; round < 7; round += 1) {
      for (const { refuse } of gateways) for (let time = 0; time < 20; time += 1) last = refuse('signature_mismatch')
      now += 60_000
    }
    await Promise.all(gateways.map(({ stop }) => stop()))
    expect(await stored.countDocuments({ ...RECORDS, why: 'signature_mismatch' })).toBe(200)
    for (const requestId of [rare, last]) expect(await stored.countDocuments({ requestId })).toBe(1)
    const [one] = await stored.find().toArray()
    expect(one?.expireAt.getTime() - now).toBe(7 * 86_400_000)
  })
})

describe('an unavailable database', () => {
  it('loses the records, which are counted', async () => {
    const away = new MongoClient('mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50')
    const gateway = open({ db: away.db('x') })
    for (let time = 0; time < 3; time += 1) gateway.refuse('signature_mismatch')
    await gateway.stop()
    expect(gateway.counted).toEqual({ too_many: 0, not_stored: 3 })
    expect(gateway.lines).toMatchObject([{ msg: 'refusals.dropped', records: 3 }])
    await away.close()
  })
})
