import { createEncryption } from '@oncehook/kernel/secrets/encryption'
import { Binary, type Db } from 'mongodb'
import { expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { Audit, NewAuditEntry } from '../audit/audit.ts'
import { createBodySearch, recordBodySearch } from './event-procedures.ts'

/** An audit log in memory. */
function openAudit() {
  const entries: NewAuditEntry[] = []
  const audit: Pick<Audit, 'has' | 'record'> = {
    has: async (id) => entries.some((entry) => entry.id?.equals(id)),
    record: async (entry) => void entries.push(entry),
  }
  return { entries, audit }
}

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 10, 23, 12)

it('has one entry for the pages of a search, and one for each other search, operator and hour', async () => {
  const { entries, audit } = openAudit()
  const search = async (operator: string, at: number, more: object = {}): Promise<number> => {
    const clock = { now: () => at }
    await recordBodySearch({ audit, clock, operator }, { filter: { provider: 'acme' }, text: 'jane', ...more })
    return entries.length
  }
  expect(await search('alice', NOON)).toBe(1)
  expect(await search('alice', NOON + HOUR_MS - 1)).toBe(1)
  expect(await search('bob', NOON)).toBe(2)
  expect(await search('alice', NOON, { text: 'joe' })).toBe(3)
  expect(await search('alice', NOON, { filter: { provider: 'shop' } })).toBe(4)
  expect(await search('alice', NOON + HOUR_MS)).toBe(5)
  expect(JSON.stringify(entries)).not.toContain('jane')
})

const NO_DATABASE = new Proxy({} as Db, {
  get: () => {
    throw new Error('No database is needed')
  },
})
const source = { db: NO_DATABASE, encryption: createEncryption(() => null) }

/** Whether a text is found in a body. */
function finds(text: string, body: string | Buffer): Promise<boolean> {
  return createBodySearch(source, text).matches(sampleRecord({ raw: new Binary(Buffer.from(body)) }))
}

it.each([
  ['plain', '{"name":"a plain text"}'],
  ['Zoë', '{"name":"Zoë"}'],
  ['Zoë', String.raw`{"name":"Zo\u00eb"}`],
  ['Zoë', String.raw`{"name":"Zo\u00EB"}`],
  ['😀', String.raw`{"name":"\ud83d\ude00"}`],
  ['https://shop.example', String.raw`{"url":"https:\/\/shop.example"}`],
  ['https://café.example', String.raw`{"url":"https:\/\/caf\u00e9.example"}`],
  ['say "hi"', String.raw`{"name":"say \"hi\""}`],
  ['"orderId":"ord_1"', '{"orderId":"ord_1"}'],
  ['Smith & Co', String.raw`{"name":"Smith \u0026 Co"}`],
  ['a b@c.example', 'email=a+b%40c.example&x=1'],
  ['ÿ', Buffer.from([0x00, 0xc3, 0xbf, 0xff])],
])('%s is found in %s', async (text, body) => {
  expect(await finds(text, body)).toBe(true)
})

it.each([
  ['Plain', '{"name":"plain"}'],
  ['plain', '{"name":"plai n"}'],
  ['.*', '{"name":"plain"}'],
  ['x', ''],
])('%s is not found in %s', async (text, body) => {
  expect(await finds(text, body)).toBe(false)
})

it('ignores other content that other software wrote instead of a body', async () => {
  const search = createBodySearch(source, 'text')
  expect(await search.matches(sampleRecord({ raw: 'text' as unknown as Binary }))).toBe(false)
  expect(search.notReadable).toBe(0)
})
