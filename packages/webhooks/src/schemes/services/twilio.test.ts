import { createHmac, hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Delivery, VerifiedDelivery } from '../../delivery.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const secret = 'an auth token of Twilio, made up'
const publicUrl = 'https://shop.example/api/webhooks/twilio'
const provider = makeProvider({ settings: { scheme: 'twilio', publicUrl }, secrets: [{ value: secret }] })

/** A delivery whose signature was made over `signed`, whatever it is. */
function deliveryOf({ query = '', form, signed }: { query?: string; form: string; signed: string }): Delivery {
  const signature = createHmac('sha1', secret).update(`${publicUrl}${signed}`).digest('base64')
  return { rawBody: Buffer.from(form), rawHeaders: ['X-Twilio-Signature', signature], query }
}

async function verdictOf(delivery: Delivery) {
  return await provider.verify(delivery, Date.now(), fetch)
}

async function idOf(delivery: Delivery): Promise<string> {
  const verdict = await verdictOf(delivery)
  if ('refused' in verdict) throw new Error(verdict.refused)
  return onlyEvent(provider.readEvents(verdict satisfies VerifiedDelivery)).id
}

describe('twilio', () => {
  it('makes one event of one signature, wherever its fields are', async () => {
    const signed = '?tenant=aAccountSidAC1BodyHiMessageSidSM1'
    const genuine = { query: 'tenant=a', form: 'AccountSid=AC1&Body=Hi&MessageSid=SM1', signed }
    const moved = { query: 'tenant=aAccountSidAC1', form: 'Body=Hi&MessageSid=SM1', signed }
    const ids = [await idOf(deliveryOf(genuine)), await idOf(deliveryOf(moved))]
    expect(new Set(ids).size).toBe(1)
  })

  it('names the same payment with a query as without one, so that a second record of it changes nothing', async () => {
    const form = 'CallSid=CA1&PaymentConfirmationCode=ch_1&Result=success'
    const signed = 'CallSidCA1PaymentConfirmationCodech_1Resultsuccess'
    const read = async (query: string) => {
      const verdict = await verdictOf(deliveryOf({ query, form, signed: query === '' ? signed : `?${query}${signed}` }))
      return 'refused' in verdict ? verdict : onlyEvent(provider.readEvents(verdict))
    }
    const [plain, queried] = [await read(''), await read('tenant=a')]
    expect(queried).toEqual({ ...plain, id: expect.not.stringMatching(String('id' in plain && plain.id)) })
    expect(queried).toMatchObject({ type: 'payment.succeeded', objectId: 'ch_1' })
  })

  it('makes the id of a delivery without a query from its fields alone', async () => {
    const signed = 'AccountSidAC1MessageSidSM1'
    const id = await idOf(deliveryOf({ form: 'MessageSid=SM1&AccountSid=AC1', signed }))
    expect(id).toBe(`sha256:${hash('sha256', signed, 'base64url')}`)
  })

  it('accepts a form of 200 fields and 64 KiB, and reads no larger one', async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, n) => [`f${String(n).padStart(4, '0')}`, 'x'])
    const formOf = (count: number) =>
      fields(count)
        .map(([name, value]) => `${name}=${value}`)
        .join('&')
    const signedOf = (count: number) => fields(count).flat().join('')
    const judge = (count: number) => verdictOf(deliveryOf({ form: formOf(count), signed: signedOf(count) }))
    expect(await judge(200)).toHaveProperty('secretId')
    expect(await judge(201)).toEqual({ refused: 'body_too_large' })
    const long = (length: number) =>
      verdictOf(deliveryOf({ form: `a=${'x'.repeat(length)}`, signed: `a${'x'.repeat(length)}` }))
    expect(await long(65_534)).toHaveProperty('secretId')
    expect(await long(65_535)).toEqual({ refused: 'body_too_large' })
  })
})
