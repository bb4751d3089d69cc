import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'
import { type ApiAnswers, serveApi } from '../../testing/serve-api.ts'

const secrets = [{ value: 'a_secret_hash_0001' }]
const transaction = { id: 285959875, tx_ref: 'ord_1', amount: 19.99, currency: 'EUR', status: 'successful' }

/** What becomes of the claim that a transaction is paid, by what the API answers. */
async function confirm(answers: ApiAnswers, data: object = { ...transaction, amount: 1 }) {
  await using api = await serveApi(answers)
  const settings = { scheme: 'flutterwave', fetch: { baseUrl: `${api.baseUrl}/v3`, token: 'FLWSECK-1' } }
  const provider = makeProvider({ settings, secrets })
  const rawBody = Buffer.from(JSON.stringify({ event: 'charge.completed', data }))
  const claimed = onlyEvent(provider.readEvents({ rawBody } as VerifiedDelivery))
  return await provider.confirm?.(claimed, fetch)
}

const path = '/v3/transactions/285959875/verify'

describe('flutterwave', () => {
  it('is refused at the start without an API to ask', () => {
    expect(() => makeProvider({ settings: { scheme: 'flutterwave' }, secrets })).toThrow()
  })

  it('refuses an object that the API does not know, or an answer for another id', async () => {
    expect(await confirm({})).toEqual({ refused: 'object_unknown' })
    expect(await confirm({ [path]: [200, { data: { ...transaction, id: 1 } }] })).toEqual({ refused: 'object_unknown' })
    expect(await confirm({}, { id: '../transfers/1' })).toEqual({ refused: 'object_unknown' })
  })
})
