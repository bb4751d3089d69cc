import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it } from 'vitest'
import type { NewAuditEntry } from './audit.ts'
import { createOrderAudit } from './order-audit.ts'

const MADE = {
  action: 'orders.create',
  principal: 'shop',
  orderId: 'ord_1',
  requestId: 'request-1',
  version: 1,
} as const

function openAudit() {
  const entries = new Map<string, NewAuditEntry>()
  const audit = {
    record: async (entry: NewAuditEntry) => void entries.set(String(entry.id), entry),
    has: async (id: unknown) => entries.has(String(id)),
  }
  const { logger, lines } = memoryLogger()
  return { entries, lines, changes: createOrderAudit(audit, { logger, wait: async () => undefined }) }
}

it.each([
  ['2026-11-23T08:00:00.000Z', /^6b03f280/],
  ['1969-12-31T00:00:00.000Z', /^00000000/],
  ['3000-01-01T00:00:00.000Z', /^00000000/],
  ['no time at all', /^00000000/],
])(
  'an order that says that it was made at %s is in the audit once, however often its answer is repeated',
  async (madeAt, id) => {
    const { entries, lines, changes } = openAudit()
    for (const isRepetition of [false, true, true]) changes.record({ ...MADE, madeAt, isRepetition })
    await changes.stop()
    expect([...entries.keys()]).toEqual([expect.stringMatching(id)])
    expect([...entries.values()]).toMatchObject([
      { by: 'api:shop', action: 'orders.create', details: { orderId: 'ord_1' } },
    ])
    expect(lines).toEqual([])
  },
)
