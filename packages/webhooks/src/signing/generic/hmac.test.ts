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
      'GitHub, SHA-256',
      { header: 'x-hub-signature-256', prefix: 'sha256=' },
      [['x-hub-signature-256', 'sha256=954170223fd5be8e03970efe3ecfb1cefe4d2b5a049e2b6cbe521380bf89f197']],
    ],
    [
      'GitHub, SHA-1',
      { header: 'x-hub-signature', algorithm: 'sha1', prefix: 'sha1=' },
      [['x-hub-signature', 'sha1=e553feb4f874ce518d83a5b4890277f441662b96']],
    ],
    [
      'Shopify',
      { header: 'x-shopify-hmac-sha256', algorithm: 'sha256', encoding: 'base64' },
      [['x-shopify-hmac-sha256', 'lUFwIj/Vvo4Dlw7+Ps+xzv5NK1oEnitsvlITgL+J8Zc=']],
    ],
    [
      'Slack',
      {
        header: 'x-slack-signature',
        prefix: 'v0=',
        timestampHeader: 'x-slack-request-timestamp',
        signedText: 'v0:{timestamp}:{body}',
      },
      [
        ['x-slack-signature', 'v0=1b0e49ad6233f18bc76d7c85a819c24764bccee2cf8719c3c54f4053f0acbb1d'],
        ['x-slack-request-timestamp', '1760000000'],
      ],
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

  it('signs `{timestamp}.{body}` when there is a header for the time and no other word about it', () => {
    const settings = { header: 'x-signature', timestampHeader: 'x-timestamp' }
    expect(sign(settings)).toEqual(sign({ ...settings, signedText: '{timestamp}.{body}' }))
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

  it.each(['base64', 'base64url'] as const)('decodes a secret in %s without padding', (form) => {
    const settings = { header: 'x', secretEncoding: 'base64' }
    const key = Buffer.from(keyAsHex, 'hex')
    expect(sign(settings, key.toString(form).replace('=', ''))).toEqual(sign(settings, key.toString('base64')))
  })

  it.each([
    ['a time in a list without its separator', { header: 'x', timestampPrefix: 't=' }, 'separator is missing'],
    ['a URL that is not set', { header: 'x', signedText: '{url}{body}' }, 'publicUrl is missing'],
    ['no header', {}, 'The setting header is missing'],
    ['an unknown algorithm', { header: 'x', algorithm: 'md5' }, 'algorithm must be one of sha1, sha256'],
    ['an unknown encoding', { header: 'x', encoding: 'latin1' }, 'encoding must be one of hex, base64'],
    ['a setting that is not a string', { header: 7 }, 'The setting header must be a string'],
    ['a time that no header carries', { header: 'x', signedText: '{timestamp}.{body}' }, 'timestampHeader is missing'],
    ['a secret that is not hexadecimal', { header: 'x', secretEncoding: 'hex' }, 'The secret is not hexadecimal'],
    ['a secret that is not base64', { header: 'x', secretEncoding: 'base64' }, 'The secret is not base64'],
  ])('refuses %s', (_, settings, message) => {
    expect(() => sign(settings)).toThrow(SigningError)
    expect(() => sign(settings)).toThrow(message)
  })
})
