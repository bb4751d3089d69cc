import { expect, it } from 'vitest'
import type { Audit, NewAuditEntry } from '../audit/audit.ts'
import { recordBodySearch } from './record-body-search.ts'

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
