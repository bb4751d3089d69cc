import { hash } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Db } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { type ContractFile, contractsOf, readPact } from './pact-files.ts'
import { type FilteredRequest, verifyContract } from './verify-contract.ts'
import { bytesOf, eventOf, isPreset, MAX_BYTES, SENDERS, type WebhookSender } from './webhook-senders.ts'

const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`
const NEXT_SECRET = `whsec_${Buffer.from('the next secret of every sender.').toString('base64')}`
const HOUR_MS = 3_600_000
const CONTRACTS = contractsOf('gateway')

/** The settings of a gateway that knows every sender. */
function providers(): object {
  const settings = SENDERS.map(({ name, provider, secret }) => {
    return [
      name,
      {
        ...provider,
        maxBytes: MAX_BYTES,
        secrets: [
          { id: 's1', value: secret },
          { id: 's2', value: NEXT_SECRET },
        ],
      },
    ]
  })
  return Object.fromEntries(settings)
}

interface Signing {
  readonly secret: string
  readonly now: number
}

/** The header lines of a delivery that is signed now. A contract's signature would be too old and for other bytes. */
function sign(sender: WebhookSender, body: Buffer, { secret, now }: Signing): [string, string][] {
  const lines = sender.signer.sign({ body, secret, now, eventId: 'msg_1', settings: sender.settings })
  return lines.map(([name, value]) => [name, value])
}

/** Signs a request, unless it has no signature in its contract. */
function signWith(sender: WebhookSender, signing: (() => Signing) | null) {
  return (request: FilteredRequest): void => {
    const body = Buffer.isBuffer(request.body) ? request.body : bytesOf(request.body)
    request.body = body
    request.headers['content-length'] = String(body.length)
    if (signing !== null) for (const [name, value] of sign(sender, body, signing())) request.headers[name] = value
  }
}

function senderOf(name: string): WebhookSender {
  const sender = SENDERS.find((candidate) => candidate.name === name)
  if (sender === undefined) throw new Error(`No sender is called ${name}`)
  return sender
}

type Delivered = [url: string, sender: WebhookSender, body: Buffer, mediaType?: string]

/** Delivers as the sender does. */
async function deliver(...[url, sender, body, mediaType = 'application/json']: Delivered): Promise<Response> {
  const signature = sign(sender, body, { secret: sender.secret, now: Date.now() })
  const headers: [string, string][] = [['content-type', mediaType], ...signature]
  return await fetch(`${url}/api/webhooks/${sender.name}`, { method: 'POST', headers, body })
}

/** Has MongoDB refuse every new event, or no longer. */
async function refuseToStore(db: Db, isRefused: boolean): Promise<void> {
  await db.command({ collMod: 'events', validator: isRefused ? { eventId: { $exists: false } } : {} })
}

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers: providers() }))
const events = database.db.collection('events')

describe('the gateway', () => {
  it('has a contract with every kind of sender', async () => {
    const pacts = await Promise.all(CONTRACTS.map(({ file }) => readPact(file)))
    const consumers = new Set(pacts.map(({ consumer }) => consumer.name))
    expect([...consumers].toSorted()).toEqual(SENDERS.map(({ name }) => name).toSorted())
  })

  it.each(CONTRACTS)('answers as $name says', async (contract: ContractFile) => {
    const { consumer } = await readPact(contract.file)
    const sender = senderOf(consumer.name)
    let signing: (() => Signing) | null
    const signsNow = () => ({ secret: sender.secret, now: Date.now() })
    await verifyContract({
      contract,
      url: gateway.url,
      filter: (request) => signWith(sender, signing)(request),
      states: {
        'the event is not known': async ({ eventId }: { eventId: string }) => {
          signing = signsNow
          await refuseToStore(database.db, false)
          expect(await events.countDocuments({ provider: sender.name, eventId })).toBe(0)
        },
        'the event was delivered before': async ({ eventId, type }: { eventId: string; type: string }) => {
          signing = signsNow
          await refuseToStore(database.db, false)
          const written: unknown = JSON.parse(Buffer.from(sender.signer.writeEvent(eventOf(eventId, type))).toString())
          expect((await deliver(gateway.url, sender, bytesOf(written))).status).toBe(200)
        },
        'the gateway cannot store events': async () => {
          signing = signsNow
          await refuseToStore(database.db, true)
        },
        'the sender signs nothing': async () => {
          signing = null
        },
        'the sender uses its next secret': async () => {
          await refuseToStore(database.db, false)
          signing = () => ({ secret: NEXT_SECRET, now: Date.now() })
        },
        'the sender has another secret': async () => {
          signing = () => ({ secret: OTHER_SECRET, now: Date.now() })
        },
        'the sender signed an hour ago': async () => {
          signing = () => ({ secret: sender.secret, now: Date.now() - HOUR_MS })
        },
      },
    })
    await refuseToStore(database.db, false)
    const accepted = (await readPact(contract.file)).interactions.filter(({ response }) => response?.status === 200)
    expect(await events.distinct('eventId', { provider: sender.name })).toHaveLength(accepted.length)
    expect(await events.countDocuments({ provider: sender.name })).toBe(accepted.length)
  })

  // No contract can contain a body that is not JSON.
  it.each(SENDERS)('keeps an authentic body that is no JSON only of a preset: $name', async (sender) => {
    const body = Buffer.from('{"id":"evt_1",')
    const answer = await deliver(gateway.url, sender, body)
    const expected = isPreset(sender) ? [200, { received: true }] : [400, { code: 'invalid_body' }]
    expect([answer.status, await answer.json()]).toMatchObject(expected)
    const kept = { provider: sender.name, eventId: `sha256:${hash('sha256', body, 'base64url')}` }
    expect((await events.deleteMany(kept)).deletedCount).toBe(isPreset(sender) ? 1 : 0)
  })

  // The verifier of Pact understands no other charset.
  it('refuses a delivery of every sender in another charset, but for presets, and one too many', async () => {
    await using limited = await testDatabase(process.env)
    // No new window begins during the test.
    const limits = { rateWindowSeconds: 86_400 }
    const settings = { RATE_LIMIT_PROVIDER: '1' }
    await using gateway = await startGateway({ database: limited, providers: providers(), settings, limits })
    for (const sender of SENDERS) {
      const who = `The gateway breaks what it owes to the consumer ${sender.name} beside its contract`
      const body = bytesOf(
        JSON.parse(Buffer.from(sender.signer.writeEvent(eventOf('evt_many', 'payment.succeeded'))).toString()),
      )
      const latin1 = await deliver(gateway.url, sender, body, 'application/json; charset=iso-8859-1')
      const told = isPreset(sender) ? [200, null] : [415, 'application/json']
      expect([latin1.status, latin1.headers.get('accept')], who).toEqual(told)
      if (!isPreset(sender)) expect((await deliver(gateway.url, sender, body)).status, who).toBe(200)
      const oneTooMany = await deliver(gateway.url, sender, body)
      expect([oneTooMany.status, oneTooMany.headers.get('retry-after')], who).toEqual([
        429,
        expect.stringMatching(/^\d+$/),
      ])
      expect(await oneTooMany.json(), who).toMatchObject({ code: 'rate_limited' })
    }
  })
})
