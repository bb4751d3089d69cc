import { describe, expect, it } from 'vitest'
import { SigningError, type SigningSettings } from '../signer.ts'
import { hmac } from './hmac.ts'

const body = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)
const keyAsHex = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const base = { body, secret: 'test_secret', now: 1_760_000_000_000 }

function sign(settings: SigningSettings, secret = base.secret) {
  return hmac.sign({ ...base, secret, settings })
}

describe('hmac', () => {
  // Each is a scheme of a real provider, so that what others computed for it can be compared.
  it.each([
    [
      'GitHub, SHA-1',
      { header: 'x-hub-signature', algorithm: 'sha1', prefix: 'sha1=' },
      [['x-hub-signature', 'sha1=e553feb4f874ce518d83a5b4890277f441662b96']],
    ],
    [
      'Cashfree',
      {
        header: 'x-webhook-signature',
        encoding: 'base64',
        timestampHeader: 'x-webhook-timestamp',
        signedText: '{timestamp}{body}',
      },
      [
        ['x-webhook-signature', 'FaHjyjy7CMrDEJpAc/yPv0ObYCFtkFNWlATOFTKah1o='],
        ['x-webhook-timestamp', '1760000000'],
      ],
    ],
  ])('gives the signature of %s', (_, settings, lines) => {
    expect(sign(settings)).toEqual(lines)
  })

  it.each([
    ['hex', keyAsHex],
    ['base64', Buffer.from(keyAsHex, 'hex').toString('base64')],
  ])('decodes a secret in %s', (secretEncoding, secret) => {
    expect(sign({ header: 'hmacsignature', encoding: 'base64', secretEncoding }, secret)).toEqual([
      ['hmacsignature', 'PkBqMmqKEfLXaWdRKWHb8q2UYyLfLD6psDHMK8ZuiZ0='],
    ])
  })

  it.each([
    [{ separator: ',', timestampPrefix: 't=', prefix: 'v1=' }, /^t=1760000000,v1=[0-9a-f]{64}$/],
    [{ separator: ' ', timestampPrefix: '', encoding: 'base64' }, /^1760000000 [A-Za-z0-9+/]{43}=$/],
    [{ separator: ',', prefix: 'v1=' }, /^v1=[0-9a-f]{64}$/],
  ])('writes the list of %j', (settings, value) => {
    expect(sign({ header: 'x', ...settings })).toEqual([['x', expect.stringMatching(value)]])
  })

  it('signs the URL, and the query that it does not send', () => {
    const settings = { header: 'x', signedText: 'POST{url}{query}{body}', publicUrl: 'https://a.example/x' }
    expect(sign(settings)).toEqual(sign({ header: 'x', signedText: 'POSThttps://a.example/x{body}' }))
  })

  it.each([
    ['no header', {}, 'The setting header is missing'],
    ['an unknown algorithm', { header: 'x', algorithm: 'md5' }, 'algorithm must be one of sha1, sha256'],
    ['a time that no header carries', { header: 'x', signedText: '{timestamp}.{body}' }, 'timestampHeader is missing'],
    ['a secret that is not hexadecimal', { header: 'x', secretEncoding: 'hex' }, 'The secret is not hexadecimal'],
  ])('refuses %s', (_, settings, message) => {
    expect(() => sign(settings)).toThrow(SigningError)
    expect(() => sign(settings)).toThrow(message)
  })
})
