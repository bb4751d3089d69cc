import { join } from 'node:path'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { signers } from '@oncehook/simulator/signers/signers'
import { Verifier } from '@pact-foundation/pact'
import { expect, it } from 'vitest'
import { CONTRACTS, readPact } from './pact-files.ts'

const NAME = 'payment-provider-gateway.json'
const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`

interface FilteredRequest {
  readonly path: string
  readonly headers: Record<string, string>
  body: unknown
}

/** Signs what will be sent, as of now: a signature in a contract would be too old, and of other bytes. */
function signWith(secret: () => string) {
  return (request: FilteredRequest, _response: unknown, next: () => void): void => {
    if (request.path.startsWith('/_pact')) {
      next()
      return
    }
    const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.from(JSON.stringify(request.body ?? ''))
    request.body = raw
    request.headers['content-length'] = String(raw.length)
    const signed = signers
      .get('standard-webhooks')
      ?.sign({ body: raw, secret: secret(), now: Date.now(), eventId: 'msg_1', settings: {} })
    for (const [name, value] of signed ?? []) request.headers[name.toLowerCase()] = value
    next()
  }
}

it('the gateway answers payment providers as the contract says', async () => {
  await using database = await testDatabase(process.env)
  const acme = { scheme: 'standard-webhooks', secrets: [{ id: 's1', value: SECRET }] }
  await using gateway = await startGateway({ database, providers: { acme } })
  const stored = database.db.collection('events')
  let secret = SECRET
  const states: string[] = []
  const enter = (state: string, prepare: () => Promise<void>) => async (): Promise<void> => {
    states.push(state)
    secret = SECRET
    await prepare()
  }
  await new Verifier({
    provider: 'gateway',
    providerBaseUrl: gateway.url,
    pactUrls: [join(CONTRACTS, NAME)],
    logLevel: 'error',
    requestFilter: signWith(() => secret) as never,
    stateHandlers: {
      'the event is not known': enter('unknown', async () => undefined),
      'the event is stored': enter('stored', async () => deliverOnce(gateway.url)),
      'the sender has another secret': enter('forged', async () => {
        secret = OTHER_SECRET
      }),
    },
  }).verifyProvider()
  // A state that is missing or fails does not fail the verification by itself.
  const { interactions } = await readPact(CONTRACTS, NAME)
  expect(states.toSorted()).toEqual(['forged', 'stored', 'unknown', 'unknown'])
  expect(interactions).toHaveLength(states.length)
  const records = await stored.find().toArray()
  expect(records.map(({ eventId }) => eventId).toSorted()).toEqual(['evt_again', 'evt_new'])
})

async function deliverOnce(url: string): Promise<void> {
  const { interactions } = await readPact(CONTRACTS, NAME)
  const again = interactions.find(({ description }) => description === 'delivers an event again') as unknown as {
    request: { body: unknown }
  }
  const body = Buffer.from(JSON.stringify(again.request.body))
  const headers = signers
    .get('standard-webhooks')
    ?.sign({ body, secret: SECRET, now: Date.now(), eventId: 'msg_0', settings: {} })
  const answer = await fetch(`${url}/api/webhooks/acme`, {
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ...(headers ?? []).map(([name, value]): [string, string] => [name, value]),
    ],
    body,
  })
  expect(answer.status).toBe(200)
}
