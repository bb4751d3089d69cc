import { createHmac, hash } from 'node:crypto'
import twilioLibrary from 'twilio'
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

describe('a delivery of Twilio whose URL is spelled otherwise than in the settings', () => {
  const host = 'https://pay.example.com'
  const params = { CallSid: 'CA1', From: '+14158675309' }

  interface Spelled {
    readonly configured: string
    readonly signed: string
    /** As it was received. */
    readonly query?: string
    readonly signedQuery?: string
  }

  /** The verdict of Twilio's library, and ours with the id of the event. */
  async function judge({ configured, signed: signedUrl, query = '', signedQuery = query }: Spelled) {
    const at = (url: string, rest: string): string => (rest === '' ? url : `${url}?${rest}`)
    const signature = twilioLibrary.getExpectedTwilioSignature(secret, at(signedUrl, signedQuery), params)
    const own = makeProvider({ settings: { scheme: 'twilio', publicUrl: configured }, secrets: [{ value: secret }] })
    const rawBody = Buffer.from(new URLSearchParams(params).toString())
    const delivery = { rawBody, rawHeaders: ['x-twilio-signature', signature], query }
    const verdict = await own.verify(delivery, Date.now(), fetch)
    return {
      library: twilioLibrary.validateRequest(secret, signature, at(configured, query), params),
      ours: !('refused' in verdict),
      id: 'refused' in verdict ? undefined : onlyEvent(own.readEvents(verdict)).id,
    }
  }

  it.each<readonly [string, Spelled]>([
    ['another port, signed without it', { configured: `${host}:8443/tw`, signed: `${host}/tw` }],
    ['another port, signed with it', { configured: `${host}:8443/tw`, signed: `${host}:8443/tw` }],
    ['no port, signed with the default one', { configured: `${host}/tw`, signed: `${host}:443/tw` }],
    ['the default port, signed without it', { configured: `${host}:443/tw`, signed: `${host}/tw` }],
    [
      'the host in capitals, signed in small letters',
      { configured: 'https://Pay.Example.COM/tw', signed: `${host}/tw` },
    ],
    [
      'the host in capitals and a port, signed in small letters without it',
      { configured: 'https://PAY.Example.com:8443/tw', signed: `${host}/tw` },
    ],
    [
      'a user and a password',
      { configured: 'https://user:pass@pay.example.com:8443/tw', signed: 'https://user:pass@pay.example.com/tw' },
    ],
    [
      'an IPv6 address with a port',
      { configured: 'https://[2001:db8::1]:8443/tw', signed: 'https://[2001:db8::1]/tw' },
    ],
    ['another port with a query', { configured: `${host}:8443/tw`, signed: `${host}/tw`, query: 'a=1&b=%20c' }],
    [
      'an apostrophe, signed as it is and received escaped',
      { configured: `${host}/tw`, signed: `${host}/tw`, query: 'n=O%27Neil', signedQuery: "n=O'Neil" },
    ],
    [
      'an apostrophe, signed escaped and received as it is',
      { configured: `${host}/tw`, signed: `${host}/tw`, query: "n=O'Neil", signedQuery: 'n=O%27Neil' },
    ],
  ])('is accepted, as Twilio itself does: %s', async (_, spelled) => {
    expect(await judge(spelled)).toMatchObject({ library: true, ours: true })
  })

  it.each<readonly [string, Spelled]>([
    ['another host', { configured: `${host}/tw`, signed: 'https://pay.example.net/tw' }],
    ['another port than the configured one', { configured: `${host}/tw`, signed: `${host}:8443/tw` }],
    ['the path in capitals', { configured: `${host}/tw`, signed: `${host}/TW` }],
    ['http for https', { configured: `${host}/tw`, signed: 'http://pay.example.com/tw' }],
    ['another query', { configured: `${host}/tw`, signed: `${host}/tw`, query: 'n=%26', signedQuery: 'n=&' }],
    [
      'a fragment behind the query',
      { configured: `${host}/tw`, signed: `${host}/tw`, query: 'n=1#x', signedQuery: 'n=1' },
    ],
  ])('is refused for %s', async (_, spelled) => {
    expect((await judge(spelled)).ours).toBe(false)
  })

  it('is one event, however its query is escaped', async () => {
    const tw = `${host}/tw`
    const read = (query: string) => judge({ configured: tw, signed: tw, query, signedQuery: "n=O'Neil" })
    const ids = [await read("n=O'Neil"), await read('n=O%27Neil'), await read('%6e=O%27Neil')].map(({ id }) => id)
    expect(ids).toEqual([ids[0], ids[0], ids[0]])
    expect(ids[0]).toMatch(/^sha256:/)
  })
})
