import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { type Db, ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { AUDIT_INDEXES, type Audit, type ChainedEntry, createAudit, type NewAuditEntry } from './audit.ts'

const entry = { by: 'alice', action: 'events.replay', reason: 'a test', details: {} } as const

/** The audit log as one gateway opens it. */
function openAudit(db: Db) {
  const { logger, lines } = memoryLogger()
  return { audit: createAudit(db, { reading: db, logger, random: Math.random }), lines }
}

async function auditedDatabase() {
  const database = await testDatabase(process.env)
  await ensureIndexes(database.db, [AUDIT_INDEXES])
  return database
}

const entriesOf = (db: Db) =>
  db
    .collection<ChainedEntry>('audit')
    .find({ seq: { $gte: 1 } })
    .sort({ seq: 1 })
    .toArray()

/** A chain of five entries, which a gateway started later does not know. */
async function chainOfFive(db: Db): Promise<ChainedEntry[]> {
  const { audit } = openAudit(db)
  const details = { filter: { from: new Date(0), provider: 'acme' }, count: 2 ** 40, refused: undefined }
  for (const reason of ['one', 'two', 'three', 'four', 'five']) await audit.record({ ...entry, reason, details })
  return entriesOf(db)
}

describe('record', () => {
  it('fails when the entry was not stored, and the chain stays whole', async () => {
    await using database = await testDatabase(process.env)
    await database.db.createCollection('audit', { validator: { by: { $ne: 'mallory' } } })
    await ensureIndexes(database.db, [AUDIT_INDEXES])
    const { audit } = openAudit(database.db)
    await audit.record({ ...entry, by: 'alice' })
    await expect(audit.record({ ...entry, by: 'mallory' })).rejects.toMatchObject({ code: 121 })
    await audit.record({ ...entry, by: 'bob' })
    expect(await audit.list({ limit: 10 })).toMatchObject([{ by: 'bob' }, { by: 'alice' }])
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 2 })
  })

  it('keeps the chain whole where a text holds half a character', async () => {
    await using database = await auditedDatabase()
    const { audit } = openAudit(database.db)
    const half = '😀'.slice(0, 1)
    await audit.record({ ...entry, by: half, reason: `why ${half}`, details: { [half]: { filter: [half] } } })
    await audit.record(entry)
    expect(await openAudit(database.db).audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 2 })
  })

  it('stores an entry with an id once, however often it is added', async () => {
    await using database = await auditedDatabase()
    const { audit } = openAudit(database.db)
    const added: NewAuditEntry[] = [1, 2, 3].map((number) => ({ ...entry, id: new ObjectId(), details: { number } }))
    await audit.recordAll(added.slice(0, 2))
    await audit.recordAll(added)
    expect((await entriesOf(database.db)).map(({ details }) => details.number)).toEqual([1, 2, 3])
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 3, brokenAt: null })
  })

  it('leaves a line in the log with the number, the hash and the reason', async () => {
    await using database = await auditedDatabase()
    const { audit, lines } = openAudit(database.db)
    await audit.record({ ...entry, reason: 'order corrected' })
    const [stored] = await entriesOf(database.db)
    const line = {
      msg: 'audit.recorded',
      id: String(stored?._id),
      seq: 1,
      hash: stored?.hash,
      reason: 'order corrected',
    }
    expect(lines).toMatchObject([line])
  })
})

describe('list', () => {
  /** The notes on the entries, page by page. */
  async function notesOf(audit: Audit, limit: number): Promise<unknown[]> {
    const notes: unknown[] = []
    for (let page = await audit.list({ limit }); page.length > 0; ) {
      notes.push(...page.map(({ details }) => details.note))
      page = await audit.list({ limit, after: page.at(-1)?._id })
    }
    return notes
  }

  it.each([1, 2, 3, 10])('has the newest entry first, whatever their ids, in pages of %i', async (limit) => {
    await using database = await auditedDatabase()
    const { audit } = openAudit(database.db)
    const ids = ['c', '0', 'f', 'a', '7'].map((digit) => new ObjectId(digit.repeat(24)))
    for (const [note, id] of ids.entries()) await audit.record({ ...entry, id, details: { note } })
    expect(await notesOf(audit, limit)).toEqual([4, 3, 2, 1, 0])
  })
})

describe('an entry that is added again because the answer got lost', () => {
  it('writes its log line then, because the first call wrote none', async () => {
    await using database = await auditedDatabase()
    const id = new ObjectId()
    await openAudit(database.db).audit.record({ ...entry, id, reason: 'order corrected' })
    await openAudit(database.db).audit.record({ ...entry, by: 'bob' })
    const { audit, lines } = openAudit(database.db)
    await audit.recordAll([
      { ...entry, id, reason: 'order corrected' },
      { ...entry, by: 'carol' },
    ])
    const [stored] = await entriesOf(database.db)
    expect(lines).toMatchObject([
      { msg: 'audit.recorded', id: String(id), seq: 1, hash: stored?.hash, reason: 'order corrected' },
      { msg: 'audit.recorded', seq: 3, by: 'carol' },
    ])
    expect(lines[0]?.at).toBe(stored?.at.toISOString())
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 3 })
  })
})

describe('the chain', () => {
  it('does not fork while several gateways write, and loses none of their entries', async () => {
    await using database = await auditedDatabase()
    const gateways = Array.from({ length: 4 }, () => openAudit(database.db).audit)
    await Promise.all(
      gateways.flatMap((audit, index) =>
        Array.from({ length: 50 }, (_, number) =>
          audit.record({ ...entry, by: `gateway ${index}`, details: { number } }),
        ),
      ),
    )
    const stored = await entriesOf(database.db)
    expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    expect(new Set(stored.map(({ by, details }) => `${by} ${details.number}`)).size).toBe(200)
    for (const audit of gateways) expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 200 })
  })

  it('can be verified in parts', async () => {
    await using database = await auditedDatabase()
    const chain = await chainOfFive(database.db)
    const [, , third] = chain
    const { audit } = openAudit(database.db)
    expect(await audit.verify({ seq: 3, hash: third?.hash ?? '' }, 'carol')).toMatchObject({ ok: true, entries: 2 })
    for (const absent of [
      { seq: 3, hash: 'another' },
      { seq: 6, hash: third?.hash ?? '' },
    ]) {
      expect(await audit.verify(absent, 'carol')).toMatchObject({ ok: false, entries: 0 })
    }
    // A link that a caller sends does not count as one that this gateway has seen.
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 5 })
  })

  it.each<[string, (db: Db, chain: readonly ChainedEntry[]) => Promise<unknown>, number | null]>([
    ['another reason', (db, [, second]) => change(db, second, { $set: { reason: 'another' } }), 1],
    ['another name', (db, [, , third]) => change(db, third, { $set: { by: 'bob' } }), 2],
    ['another time', (db, [, , third]) => change(db, third, { $set: { at: new Date(0) } }), 2],
    ['a time that is none', (db, [, , third]) => change(db, third, { $set: { at: 'yesterday' } }), 2],
    ['other details', (db, [first]) => change(db, first, { $set: { 'details.count': 1 } }), 0],
    ['a property more', (db, [first]) => change(db, first, { $set: { approved: true } }), 0],
    ['an entry removed', (db, [, , third]) => remove(db, third), 3],
    ['the first entry removed', (db, [first]) => remove(db, first), 1],
    ['an entry taken out of the chain', (db, [, , third]) => change(db, third, { $unset: { seq: '' } }), 3],
    ['an entry written anew with its own hash', rewriteThird, 3],
    ['an entry with a number between two others', (db) => insert(db, { seq: 3.5 }), null],
    ['an entry without a number', (db) => insert(db, {}), null],
    ['an entry whose number is a text', (db) => insert(db, { seq: '6' }), null],
    ['an entry whose number is below 1', (db) => insert(db, { seq: 0 }), null],
    ['an entry whose number is none', (db) => insert(db, { seq: Number.NaN }), null],
  ])('is broken by %s', async (_, tamper, brokenAt) => {
    await using database = await auditedDatabase()
    const chain = await chainOfFive(database.db)
    const { audit, lines } = openAudit(database.db)
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: true, entries: 5 })
    await tamper(database.db, chain)
    const place = brokenAt === null ? INSERTED : chain[brokenAt]?._id
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: false, brokenAt: String(place) })
    expect(lines.at(-1)).toMatchObject({ msg: 'audit.verified', ok: false, level: 'error', by: 'carol' })
  })

  it('is no alarm if a caller has made up where it begins: the log names the caller', async () => {
    await using database = await auditedDatabase()
    const [first] = await chainOfFive(database.db)
    const { audit, lines } = openAudit(database.db)
    const before = lines.length
    for (const hash of ['a'.repeat(64), first?.hash ?? '']) {
      expect(await audit.verify({ seq: 3, hash }, 'carol')).toMatchObject({ ok: false, brokenAt: null, last: null })
    }
    const line = { msg: 'audit.verified', level: 'info', by: 'carol', reason: 'after_unknown', seq: 3 }
    expect(lines.slice(before)).toMatchObject([line, line])
    expect(lines.slice(before).some((one) => 'ok' in one)).toBe(false)
  })

  it('shows missing newest entries to a gateway that has seen them, and to anyone who has the log', async () => {
    await using database = await auditedDatabase()
    const chain = await chainOfFive(database.db)
    const { audit, lines } = openAudit(database.db)
    await audit.record({ ...entry, reason: 'six' })
    const { seq, hash } = lines[0] as { seq: number; hash: string }
    await database.db.collection('audit').deleteMany({ seq: { $gte: 5 } })
    expect(await audit.verify(null, 'carol')).toMatchObject({ ok: false, entries: 4, brokenAt: null })
    const restarted = openAudit(database.db)
    const verified = await restarted.audit.verify(null, 'carol')
    expect(verified.last).toEqual({ seq: 4, hash: chain[3]?.hash })
    expect([seq, hash]).not.toEqual([verified.last?.seq, verified.last?.hash])
    expect(restarted.lines.at(-1)).toMatchObject({ msg: 'audit.verified', entries: 4, hash: chain[3]?.hash })
  })
})

const INSERTED = new ObjectId('f'.repeat(24))

function insert(db: Db, members: object): Promise<unknown> {
  return db.collection('audit').insertOne({ ...entry, at: new Date(), ...members, _id: INSERTED })
}

function change(db: Db, entryToChange: ChainedEntry | undefined, update: object): Promise<unknown> {
  return db.collection('audit').updateOne({ seq: entryToChange?.seq }, update)
}

function remove(db: Db, entryToRemove: ChainedEntry | undefined): Promise<unknown> {
  return db.collection('audit').deleteOne({ seq: entryToRemove?.seq })
}

async function rewriteThird(db: Db, [, second, third]: readonly ChainedEntry[]): Promise<void> {
  const { linkEntry } = await import('./audit.ts')
  if (second === undefined || third === undefined) throw new Error('The chain is too short')
  const { seq: _, hash: __, previous: ___, ...rest } = third
  await db.collection('audit').replaceOne({ _id: third._id }, linkEntry({ ...rest, by: 'bob' }, second))
}
