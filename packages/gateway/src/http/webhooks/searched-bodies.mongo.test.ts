import { createHmac, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const value = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const providers = { adyen: { scheme: 'adyen', secrets: [{ id: 'only', value }] } }

async function start() {
  const limits = { rateWindowSeconds: 3_600 }
  return await startGateway({ database, providers, limits, settings: { RATE_LIMIT_FAILED: '3' } })
}

type Gateway = Awaited<ReturnType<typeof start>>

/** Sends an Adyen delivery of a new payment, signed with a key. */
async function deliver({ url }: Gateway, { key = value, padding = 0 } = {}): Promise<number> {
  const pspReference = randomUUID()
  const signed = `${pspReference}::Acme:ord_1:100:EUR:AUTHORISATION:true`
  const hmacSignature = createHmac('sha256', Buffer.from(key, 'hex')).update(signed).digest('base64')
  const item = {
    ...{ pspReference, merchantAccountCode: 'Acme', merchantReference: 'ord_1', eventCode: 'AUTHORISATION' },
    ...{ success: 'true', amount: { value: 100, currency: 'EUR' }, additionalData: { hmacSignature } },
  }
  const body = JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] }) + ' '.repeat(padding)
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/webhooks/adyen`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.status
}

async function deliverMany(gateway: Gateway, count: number, sent?: Parameters<typeof deliver>[1]): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n += 1) statuses.push(await deliver(gateway, sent))
  return statuses
}

const forged = { key: 'ff'.repeat(32) }

describe('a provider that signs in the body', () => {
  it('is taken from an address beyond its limit too', async () => {
    await using gateway = await start()
    expect(await deliverMany(gateway, 5, forged)).toEqual([401, 401, 401, 429, 429])
    expect(await deliverMany(gateway, 3)).toEqual([200, 200, 200])
  })

  it('has a limited number of bodies read without a valid signature, and no large one: a flood is bounded', async () => {
    await using gateway = await start()
    await deliverMany(gateway, 4, forged)
    expect(await deliver(gateway, { padding: 70_000 })).toBe(429)
    expect(await deliverMany(gateway, 28, forged)).not.toContain(401)
    expect(await deliver(gateway)).toBe(200)
    expect(await deliverMany(gateway, 2, forged)).toEqual([429, 429])
    expect(await deliver(gateway)).toBe(429)
  })
})
