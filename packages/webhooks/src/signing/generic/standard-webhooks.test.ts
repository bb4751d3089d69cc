import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { SigningError } from '../signer.ts'
import { standardWebhooks } from './standard-webhooks.ts'

// The key is the 32 bytes 00 01 … 1f.
const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const body = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)

describe('standardWebhooks', () => {
  it('gives the signature that other implementations give', () => {
    const lines = standardWebhooks.sign({ body, secret, now: 1_760_000_000_999, eventId: 'msg_0001' })
    expect(lines).toEqual([
      ['webhook-id', 'msg_0001'],
      ['webhook-timestamp', '1760000000'],
      ['webhook-signature', 'v1,JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU='],
    ])
  })

  it('is accepted by the library of the specification, until a byte changes', () => {
    const headers = Object.fromEntries(standardWebhooks.sign({ body, secret, now: Date.now(), eventId: 'evt_1' }))
    const webhook = new Webhook(secret)
    expect(webhook.verify(body, headers)).toMatchObject({ id: 'evt_0001' })
    expect(() => webhook.verify(Buffer.from(body.toString().replace('pay_0001', 'pay_0002')), headers)).toThrow()
  })

  it('is accepted by the library of Svix under either set of header names', () => {
    const webhook = new SvixWebhook(secret)
    for (const headerPrefix of ['webhook-', 'svix-']) {
      const request = { body, secret, now: Date.now(), eventId: 'evt_1', settings: { headerPrefix } }
      const headers = Object.fromEntries(standardWebhooks.sign(request))
      expect(() => webhook.verify(body, headers)).not.toThrow()
      expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature found')
    }
  })

  it.each([
    ['no id', { secret, eventId: '' }],
    ['an id with a dot', { secret, eventId: 'evt.1' }],
    ['an id that no header can carry', { secret, eventId: 'evt_é' }],
    ['a secret that is not base64', { secret: 'whsec_not*base64', eventId: 'evt_1' }],
    ['a secret without its padding', { secret: secret.slice(0, -1), eventId: 'evt_1' }],
    ['a blank secret', { secret: 'whsec_', eventId: 'evt_1' }],
  ])('refuses %s without repeating a value', (_, request) => {
    const sign = () => standardWebhooks.sign({ body, now: 0, ...request })
    expect(sign).toThrow(SigningError)
    expect(sign).not.toThrow(/whsec_|AAEC|evt_é|evt\.1/)
  })
})
