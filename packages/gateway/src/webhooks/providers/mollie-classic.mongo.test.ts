import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { VerifiedDelivery } from '@oncehook/webhooks/providers'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { type ApiAnswers, serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import { PROVIDER_SOURCES } from '../../testing/provider-sources.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { readProviders } from './providers.ts'

const answers: Record<string, ApiAnswers[string]> = {}
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const api = stack.use(await serveApi(answers))
const settings = { scheme: 'mollie-classic', fetch: { baseUrl: `${api.baseUrl}/v2`, token: 'live_key_0001' } }
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers: { mollie: settings } }))
const events = database.db.collection('events')

const EUR = (value: string) => ({ value, currency: 'EUR' })
const paid = {
  ...{ resource: 'payment', status: 'paid', amount: EUR('19.99'), paidAt: '2026-01-01T10:00:00+00:00' },
  ...{ amountRefunded: EUR('0.00'), metadata: { order_id: 'ord_0001' } },
}

/** Sets what Mollie answers about a payment from now on. */
function message(id: string, object: object): void {
  answers[`/v2/payments/${id}`] = [200, { id, ...object }]
}

async function call(body: string, type = 'application/x-www-form-urlencoded'): Promise<number> {
  const headers = { 'content-type': type }
  const response = await fetch(`${gateway.url}/api/webhooks/mollie`, { method: 'POST', headers, body })
  await response.arrayBuffer()
  return response.status
}

const storedOf = (objectId: string) => events.find({ objectId }).sort({ _id: 1 }).toArray()

describe('a call of Mollie', () => {
  it('proves nothing: properties besides the id have no effect', async () => {
    message('tr_beside', { ...paid, status: 'open' })
    expect(await call('id=tr_beside&status=paid&type=payment.succeeded&amount=1')).toBe(200)
    expect(await storedOf('tr_beside')).toMatchObject([{ type: 'payment.open' }])
  })

  it('makes no call if the id cannot be one', async () => {
    const before = api.requests.length
    for (const id of ['', 'tr_', 'tr_1/../../customers', 'cst_1', 'tr_1?x=1', '../payments/tr_paid']) {
      expect(await call(`id=${encodeURIComponent(id)}`), id).toBe(401)
    }
    expect(api.requests).toHaveLength(before)
  })

  // The API is asked about one payment once a second at most, so these wait at the same time. Each has its own payment.
  it.concurrent('is one event for each state of the payment, however often it is delivered', async () => {
    for (const object of [
      { ...paid, status: 'open' },
      { ...paid, status: 'open' },
      paid,
      paid,
      { ...paid, amountRefunded: EUR('5.00') },
      { ...paid, amountRefunded: EUR('19.99') },
      { ...paid, amountRefunded: EUR('19.99'), amountChargedBack: EUR('19.99') },
    ]) {
      message('tr_life', object)
      expect(await call('id=tr_life')).toBe(200)
    }
    expect((await storedOf('tr_life')).map(({ eventId, type }) => [eventId, type])).toEqual([
      ['tr_life:open', 'payment.open'],
      ['tr_life:paid', 'payment.succeeded'],
      ['tr_life:paid:refunded-500', 'payment.succeeded'],
      ['tr_life:paid:refunded-1999', 'payment.refunded'],
      ['tr_life:paid:refunded-1999:charged_back-1999', 'payment.charged_back'],
    ])
  })

  it.concurrent('of a payment whose answer is of another payment is refused as any forgery, and leaves nothing', async () => {
    message('tr_asked', { ...paid, id: 'tr_another' })
    expect(await call('id=tr_asked')).toBe(401)
    expect(await storedOf('tr_asked')).toEqual([])
  })
})

describe('a call with any one bit changed', () => {
  it('never counts for the payment that was called', async () => {
    const provider = makeProvider({ settings, secrets: [] })
    const body = Buffer.from('id=tr_paid')
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      const rawBody = Buffer.from(body)
      rawBody[bit >> 3] = (rawBody[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const verdict = await provider.verify({ rawBody, rawHeaders: [], query: '' }, 0, fetch)
      if ('refused' in verdict) continue
      const [claimed] = provider.readEvents(verdict as VerifiedDelivery)
      expect(claimed?.objectId, `bit ${bit}`).not.toBe('tr_paid')
    }
  })
})

describe('the settings of mollie-classic', () => {
  const problemsOf = (acme: object): string =>
    settingsProblems(() => readProviders(JSON.stringify({ acme }), PROVIDER_SOURCES)).join()

  it('require an API to query and a key for it, and no secret', () => {
    expect(problemsOf(settings)).toBe('')
    expect(problemsOf({ scheme: 'mollie-classic' })).toMatch(/^PROVIDERS\.acme\.fetch /)
    expect(problemsOf({ ...settings, fetch: { baseUrl: api.baseUrl } })).toMatch(/^PROVIDERS\.acme\.fetch\.token /)
    expect(problemsOf({ ...settings, fetch: { token: 'live_key_0001' } })).toMatch(/^PROVIDERS\.acme\.fetch\.baseUrl /)
    expect(problemsOf({ ...settings, fetch: { ...settings.fetch, token: 'changeme' } })).toMatch(/token/)
    expect(problemsOf({ ...settings, fetch: { ...settings.fetch, baseUrl: 'http://api.mollie.com' } })).toMatch(/https/)
    const secrets = [{ id: 's1', value: 'a secret of nothing at all' }]
    expect(problemsOf({ ...settings, secrets })).toBe('PROVIDERS.acme.secrets must be omitted: nothing is signed')
  })
})
