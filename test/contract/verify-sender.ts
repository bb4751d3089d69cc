import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect } from 'vitest'
import type { ContractFile } from './pact-files.ts'
import { verifyContract } from './verify-contract.ts'
import { bytesOf, SENDERS } from './webhook-senders.ts'

const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`
const HOUR_MS = 3_600_000
const PROVIDER = { scheme: 'standard-webhooks', effects: [], secrets: [{ id: '1', value: SECRET }] }

interface Named {
  readonly eventId: string
  readonly type: string
}

/**
 * Verifies the contract of a sender that another team has written: it signs as Standard Webhooks, and delivers to the
 * provider that has its name. Resolves to the ids of the events that are stored.
 */
export async function verifySender(contract: ContractFile, sender: string): Promise<string[]> {
  await using database = await testDatabase(process.env)
  await using gateway = await startGateway({ database, providers: { [sender]: PROVIDER } })
  const signer = SENDERS.find(({ name }) => name === 'standard-webhooks')?.signer ?? expect.unreachable()
  let signing = { secret: SECRET, now: Date.now() }
  const signed = (body: Buffer, eventId: string) => Object.fromEntries(signer.sign({ body, ...signing, eventId }))
  const signNow = (): void => {
    signing = { secret: SECRET, now: Date.now() }
  }
  await verifyContract({
    contract,
    url: gateway.url,
    isPartial: true,
    filter(request) {
      const body = bytesOf(Buffer.isBuffer(request.body) ? JSON.parse(request.body.toString()) : request.body)
      request.body = body
      const headers = { ...signed(body, request.headers['webhook-id'] ?? ''), 'content-length': String(body.length) }
      Object.assign(request.headers, headers)
    },
    states: {
      'the event is not known': async () => signNow(),
      async 'the event was delivered before'({ eventId: id, type }: Named) {
        signNow()
        const body = bytesOf({ id, type, data: { object: { id: `count_of_${id}` } } })
        const headers = { 'content-type': 'application/json', ...signed(body, id) }
        const sent = { method: 'POST', headers, body }
        expect((await fetch(`${gateway.url}/api/webhooks/${sender}`, sent)).status).toBe(200)
      },
      async 'the sender has another secret'() {
        signing = { secret: OTHER_SECRET, now: Date.now() }
      },
      async 'the sender signed an hour ago'() {
        signing = { secret: SECRET, now: Date.now() - HOUR_MS }
      },
    },
  })
  const stored = await database.db.collection('events').find().toArray()
  return stored.map(({ eventId }) => String(eventId)).toSorted()
}
