import { Agent, request } from 'node:http'
import { withBody } from '@oncehook/gateway/inbox/bodies'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { PROVIDER_SOURCES } from '@oncehook/gateway/testing/provider-sources'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { readProviders } from '@oncehook/gateway/webhooks/providers/providers'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import type { Delivery } from '@oncehook/webhooks/providers'
import { demandedSettings } from '@oncehook/webhooks/testing/make-provider'
import { deliveryOf, readVectorFiles, secretsOf, type Vector } from '@oncehook/webhooks/testing/vectors'
import { afterAll, describe, expect, it } from 'vitest'
import { reverifyEvent } from '../../packages/gateway/src/operator/events/reverify-event.ts'
import { storedHeaders } from '../../packages/gateway/src/webhooks/receive-webhook.ts'

interface Answer {
  readonly status: number | undefined
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: string
}

const files = readVectorFiles()
/** One provider for each combination of settings and secret, by its name in the path. */
const providers: Record<string, object> = {}
const paths = new Map<string, string>()

function pathOf(scheme: string, vector: Vector, older: readonly object[] = []): string {
  const demanded = { acceptShortSecret: true, ...demandedSettings(scheme) }
  const provider = { ...demanded, ...vector.settings, scheme, secrets: [...older, ...secretsOf(vector)] }
  const key = JSON.stringify(provider)
  const path = paths.get(key) ?? `${scheme}-${paths.size}`
  paths.set(key, path)
  providers[path] = provider
  return path
}

for (const { scheme, cases } of files) for (const vector of cases) pathOf(scheme, vector)
/** What signs the first accepted vector of each scheme is the newer of two secrets, by the scheme. */
const rotations = new Map<string, { readonly vector: Vector; readonly path: string }>()
for (const { scheme, cases } of files) {
  const vector = cases.find(({ verdict, secret }) => verdict === 'accepted' && secret !== '')
  if (vector === undefined) continue
  const { value } = await makeDevelopmentSecret(scheme, vector.now * 1_000)
  rotations.set(scheme, { vector, path: pathOf(scheme, vector, [{ id: 'old', value }]) })
}
const configured = readProviders(JSON.stringify(providers), PROVIDER_SOURCES)

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const clock = { seconds: 0, now: () => clock.seconds * 1_000 }
const database = stack.use(await testDatabase(process.env))
const fetch = () => Promise.reject(new Error('Nobody is asked here'))
const gateway = stack.use(await startGateway({ database, providers, clock, fetch }))
const agent = stack.adopt(new Agent({ keepAlive: true, maxSockets: 1 }), (one) => one.destroy())
const events = database.db.collection<EventDocument>(EVENTS)

/** Sends a vector as it is written, at its own time. */
function send(scheme: string, vector: Vector, path = pathOf(scheme, vector)): Promise<Answer> {
  const { rawBody, rawHeaders, query } = deliveryOf(vector)
  clock.seconds = vector.now
  const url = `${gateway.url}/api/webhooks/${path}${query === '' ? '' : `?${query}`}`
  const headers = ['Host', 'gateway.example', 'Content-Length', String(rawBody.length), ...rawHeaders]
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
      .on('error', reject)
      .end(rawBody)
  })
}

/**
 * Whether a vector reaches the provider as it is written: HTTP removes whitespace around a value (RFC 9110 section 5.5),
 * and two lines of Content-Type are bad HTTP whatever is signed.
 */
function isSendable({ headers }: Vector): boolean {
  const types = headers.filter(([name]) => name.toLowerCase() === 'content-type')
  return types.length < 2 && headers.every(([, value]) => value === value.replace(/^[ \t]+|[ \t]+$/g, ''))
}

/** An answer without what differs from request to request: a caller may name its request, and gets its name back. */
function likenessOf({ status, headers, body }: Answer): unknown {
  const { date: _date, 'x-request-id': id, 'content-length': length, ...lasting } = headers
  return { status, lasting, length: Number(length) - String(id).length, body: body.replace(String(id), 'id') }
}

/** Of these, what is authentic and no event is refused (docs/reference/providers.md, What cannot be read). */
const TOLD_WHAT_TO_SEND = ['hmac', 'paypal', 'standard-webhooks']

const alike: unknown[] = []

describe.each(files)('the gateway with the vectors of $scheme', ({ scheme, cases }) => {
  const sendable = cases.filter(isSendable)
  const who = ({ why }: Vector): string =>
    `The gateway breaks what it owes to the consumer ${scheme} (contracts/vectors/${scheme}.json): ${why}`

  it('has at least 25 refused ones that can be sent as they are written', () => {
    expect(sendable.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThanOrEqual(25)
  })

  it('answers 401 to every refused one, with identical bytes, and stores none of them', async () => {
    const before = (await events.distinct('_id')).map(String)
    for (const vector of sendable.filter(({ verdict, refusedItems }) => verdict === 'refused' && !refusedItems)) {
      const answer = await send(scheme, vector)
      expect(answer.status, who(vector)).toBe(401)
      alike.push(likenessOf(answer))
      expect(alike.at(-1), who(vector)).toEqual(alike[0])
    }
    // The database removes old ones meanwhile: some vectors are of years ago.
    const after = (await events.distinct('_id')).map(String)
    expect(after.filter((id) => !before.includes(id))).toEqual([])
  })

  it('stores of a delivery that is refused in part only what holds, and answers it like any refused one', async () => {
    for (const vector of sendable.filter(({ refusedItems }) => refusedItems !== undefined)) {
      const pointers = vector.refusedItems?.map((place) => `/notificationItems/${place}/NotificationRequestItem`)
      const answer = await send(scheme, vector)
      expect(answer.status, who(vector)).toBe(401)
      expect(likenessOf(answer), who(vector)).toEqual(alike[0])
      const stored = await events.find({ provider: pathOf(scheme, vector) }).toArray()
      expect(stored.length, who(vector)).toBeGreaterThan(0)
      expect(pointers, who(vector)).not.toContain(stored[0]?.facts.pointer)
      await events.deleteMany({ provider: pathOf(scheme, vector) })
    }
  })

  it('answers every accepted one otherwise: it is stored, or no event', async () => {
    for (const vector of sendable.filter(({ verdict }) => verdict === 'accepted')) {
      const { status } = await send(scheme, vector)
      // A provider that has to confirm the event cannot be asked here.
      const isConfirmed = configured.get(pathOf(scheme, vector))?.confirm !== undefined
      const refusal = TOLD_WHAT_TO_SEND.includes(scheme) ? [400] : []
      expect(isConfirmed ? [200, 400, 500] : [200, 204, ...refusal], who(vector)).toContain(status)
    }
  })

  it('takes what the newer of two secrets signs', async () => {
    const { vector, path } = rotations.get(scheme) ?? {}
    if (vector === undefined) return expect(scheme, 'the only scheme without secrets').toBe('mollie-classic')
    const { status } = await send(scheme, vector, path)
    expect(status, `${who(vector)}, by the newer of two secrets`).not.toBe(401)
  })

  it('keeps of the headers of every accepted one those by which it is accepted again', async () => {
    for (const vector of sendable.filter(({ verdict }) => verdict === 'accepted')) {
      const provider = configured.get(pathOf(scheme, vector))
      if (provider === undefined) throw new Error(`No provider for ${vector.why}`)
      const delivery = deliveryOf(vector)
      const kept = storedHeaders(provider, delivery)
      for (const { value } of secretsOf(vector)) expect(Object.values(kept).join(), who(vector)).not.toContain(value)
      const query = provider.usesQuery ? delivery.query : ''
      const again: Delivery = { ...delivery, rawHeaders: Object.entries(kept).flat(), query, isStored: true }
      expect(await provider.verify(again, vector.now * 1_000, fetch), who(vector)).toHaveProperty('secretId')
    }
  })

  it('keeps everything that an operator needs to check a stored one again', async () => {
    const own = new Set(sendable.map((vector) => pathOf(scheme, vector)))
    const stored = await events.find({ provider: { $in: [...own] } }).toArray()
    for (const record of stored) {
      const whole = await withBody({ db: database.db, encryption: NO_ENCRYPTION }, record)
      expect(await reverifyEvent(whole, { providers: () => configured, fetch }), record.eventId).toMatchObject({
        valid: true,
        failure: null,
      })
    }
  })
})
