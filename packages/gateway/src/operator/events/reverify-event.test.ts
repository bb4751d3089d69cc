import { hash } from 'node:crypto'
import { Binary } from 'mongodb'
import { expect, it } from 'vitest'
import type { Providers } from '../../providers/read-providers.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { type ReverifyDeps, reverifyEvent } from './reverify-event.ts'

const receivedAt = new Date('2026-11-01T10:00:00.000Z')
const evidenceAt = new Date('2026-11-09T10:00:00.000Z')

it.each([
  ['the first delivery', {}, receivedAt],
  ['the redelivery that brought the evidence again', { evidenceAt }, evidenceAt],
])('a stored event is checked as of %s', async (_, members, asOf) => {
  const verify = async (_: unknown, now: number) => (now === asOf.getTime() ? { secretId: 's1' } : { refused: 'late' })
  const raw = Buffer.from('{}')
  const record = sampleRecord({ raw: new Binary(raw), bodyHash: hash('sha256', raw, 'base64'), receivedAt, ...members })
  const providers = new Map([[record.provider, { verify }]]) as unknown as Providers
  const deps: ReverifyDeps = { providers: () => providers, fetch: async () => expect.unreachable() }
  expect(await reverifyEvent(record, deps)).toMatchObject({ valid: true, secretId: 's1' })
})
