import { hash } from 'node:crypto'
import { Binary } from 'mongodb'
import { expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { Providers } from '../../webhooks/providers/providers.ts'
import { type ReverifyDeps, reverifyEvent } from './reverify-event.ts'

const receivedAt = new Date('2026-11-01T10:00:00.000Z')

it('a stored event is checked as of its receipt', async () => {
  const verify = async (_: unknown, now: number) =>
    now === receivedAt.getTime() ? { secretId: 's1' } : { refused: 'late' }
  const raw = Buffer.from('{}')
  const record = sampleRecord({ raw: new Binary(raw), bodyHash: hash('sha256', raw, 'base64'), receivedAt })
  const providers = new Map([[record.provider, { verify }]]) as unknown as Providers
  const deps: ReverifyDeps = { providers: () => providers, fetch: async () => expect.unreachable() }
  expect(await reverifyEvent(record, deps)).toMatchObject({ valid: true, secretId: 's1' })
})
