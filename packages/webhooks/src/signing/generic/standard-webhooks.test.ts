import { describe, expect, it } from 'vitest'
import { SigningError } from '../signer.ts'
import { standardWebhooks } from './standard-webhooks.ts'

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const body = Buffer.from('{}')

describe('standardWebhooks', () => {
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
