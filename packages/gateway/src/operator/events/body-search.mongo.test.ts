import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, type ObjectId } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { BODIES, type BodyDocument, sealBody } from '../../inbox/bodies.ts'
import { EVENT_INDEXES, type EventDocument } from '../../inbox/event-document.ts'
import { NO_BODY, storeEvidence } from '../../inbox/evidence-encryption.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createBodySearch } from './event-procedures.ts'
import { findNewest, type SearchBudget } from './event-search.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
await ensureIndexes(db, [EVENT_INDEXES])
const events = db.collection<EventDocument>(EVENTS)
const bodies = db.collection<BodyDocument>(BODIES)
const keys = createTestKeys()
const encryption = keys.encryption('first')

const TEXT = 'jane@shop.example'
const NO_END: SearchBudget = { ms: Number.POSITIVE_INFINITY, now: () => 0 }
const binary = (text: string): Binary => new Binary(Buffer.from(text))
const idsOf = (found: readonly { readonly _id: ObjectId }[]): string[] => found.map(({ _id }) => String(_id))

/** A record with an encrypted body. Its headers contain the text too. */
function sealedRecord(provider: string, body: string): EventDocument {
  const record = sampleRecord({ provider })
  const evidence = { raw: binary(body), headers: { 'x-signature': TEXT }, query: TEXT }
  return { ...record, ...storeEvidence(record._id, evidence, encryption) }
}

it('finds plain, encrypted and shared bodies, and neither headers nor bodies that are gone', async () => {
  const provider = 'kinds'
  const shared = ['with', 'sealed', 'without'].map((id) => `${provider}:${id}`)
  await bodies.insertMany([
    { _id: `${provider}:with`, raw: binary(`the body of ${TEXT}`), checkAt: new Date() },
    {
      _id: `${provider}:sealed`,
      ...sealBody(`${provider}:sealed`, Buffer.from(TEXT), encryption),
      checkAt: new Date(),
    },
    { _id: `${provider}:without`, raw: binary('the body of nobody'), checkAt: new Date() },
  ])
  const ofShared = shared.map((bodyId) => sampleRecord({ provider, raw: NO_BODY, bodyId }))
  const wanted = [
    sampleRecord({ provider, raw: binary(`{"email":"${TEXT}"}`) }),
    sealedRecord(provider, TEXT),
    ...ofShared.slice(0, 2),
  ]
  const { bodyHash: _hash, headers: _headers, raw: _raw, ...bare } = sampleRecord({ provider })
  const others = [
    sampleRecord({ provider, raw: binary(TEXT.toUpperCase()), headers: { 'x-signature': TEXT } }),
    sealedRecord(provider, 'nobody'),
    ...ofShared.slice(2),
    sampleRecord({ provider, raw: NO_BODY, bodyId: `${provider}:gone` }),
    sampleRecord({ provider, raw: NO_BODY }),
    bare as EventDocument,
    { ...sampleRecord({ provider }), raw: TEXT as unknown as Binary },
  ]
  await events.insertMany([...wanted, ...others])
  const search = createBodySearch({ db, encryption }, TEXT)
  const page = { filter: { provider }, after: undefined, limit: 100, isWanted: search.matches }
  const found = await findNewest(db, page, NO_END)
  expect(idsOf(found.records).toSorted()).toEqual(idsOf(wanted).toSorted())
  expect(found).toMatchObject({ next: null, cut: null })
  expect(search.notReadable).toBe(0)
})

it('counts bodies that cannot be read, and searches the others', async () => {
  const provider = 'unreadable'
  const [first, second] = [sealedRecord(provider, TEXT), sealedRecord(provider, TEXT)]
  const plain = sampleRecord({ provider, raw: binary(TEXT) })
  const damaged = sealedRecord(provider, TEXT)
  await events.insertMany([first, second, plain, { ...damaged, sealed: first.sealed } as EventDocument])
  for (const [source, ids, notReadable] of [
    [encryption, idsOf([plain, second, first]), 1],
    [NO_ENCRYPTION, idsOf([plain]), 3],
  ] as const) {
    const search = createBodySearch({ db, encryption: source }, TEXT)
    const page = { filter: { provider }, after: undefined, limit: 100, isWanted: search.matches }
    expect(idsOf((await findNewest(db, page, NO_END)).records).toSorted()).toEqual([...ids].toSorted())
    expect(search.notReadable).toBe(notReadable)
  }
})

it.each([
  ['all events', {}],
  ['the events of an order', { orderId: 'ord_searched' }],
])('pages %s without gaps or duplicates, however often the time is up', async (_, members) => {
  const provider = Object.keys(members).length === 0 ? 'paged' : 'paged-order'
  const records = Array.from({ length: 700 }, (_, index) =>
    sampleRecord({ provider, ...members, raw: binary(index % 90 === 3 ? TEXT : `${index}`) }),
  )
  await events.insertMany(records)
  const wanted = idsOf(records.filter((_, index) => index % 90 === 3)).toReversed()
  for (const limit of [1, 3, 100]) {
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      let steps = 0
      const { matches } = createBodySearch({ db, encryption }, TEXT)
      const page = { filter: { provider, ...members }, after, limit, isWanted: matches }
      const found = await findNewest(db, page, { ms: 37, now: () => steps++ })
      seen.push(...idsOf(found.records))
      if (found.next === null) break
      expect(found.cut !== null).toBe(found.records.length < limit)
      after = found.next
    }
    expect(seen).toEqual(wanted)
  }
})
