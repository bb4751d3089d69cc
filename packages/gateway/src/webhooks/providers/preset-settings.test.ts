import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import type { Provider } from '@oncehook/webhooks/providers'
import { describe, expect, it } from 'vitest'
import { PROVIDER_SOURCES } from '../../testing/provider-sources.ts'
import { readProviders } from './providers.ts'

const secret = 'canary-secret-0123456789'
const secrets = [{ id: 'a', value: secret }]
const url = { publicUrl: 'https://pay.example.com/api/webhooks/square' }

/** The schemes that sign with the text of one secret, what they require beside it, and whether they sign a time. */
const SCHEMES = [
  { scheme: 'cashfree', signsTime: true },
  { scheme: 'checkout', signsTime: false },
  { scheme: 'github', signsTime: false },
  { scheme: 'gocardless', signsTime: false },
  { scheme: 'hook0', signsTime: true, demanded: { effects: [] } },
  { scheme: 'lemonsqueezy', signsTime: false },
  { scheme: 'mollie', signsTime: false },
  { scheme: 'paddle', signsTime: true },
  { scheme: 'razorpay', signsTime: false },
  { scheme: 'shopify', signsTime: false },
  { scheme: 'slack', signsTime: true },
  { scheme: 'square', signsTime: false, demanded: url },
  { scheme: 'woocommerce', signsTime: false },
  { scheme: 'x', signsTime: false },
  { scheme: 'zoom', signsTime: true },
]

function read(acme: object): Provider {
  const provider = readProviders(JSON.stringify({ acme }), PROVIDER_SOURCES).get('acme')
  if (provider === undefined) throw new Error('The provider was not read')
  return provider
}

const problemsOf = (acme: object) => settingsProblems(() => read(acme))

describe.each(SCHEMES)('the settings of $scheme', ({ scheme, signsTime, demanded = {} }) => {
  const usual = { scheme, ...demanded, secrets }

  it('are a secret and nothing that this scheme does not know', () => {
    expect(read(usual)).toMatchObject({ scheme, signsTime, maxBytes: 1_048_576 })
    const [problem, ...more] = problemsOf({ ...usual, prefix: 'sha256=' })
    expect(problem).toMatch(/^PROVIDERS\.acme .*prefix/)
    expect(more).toEqual([])
  })

  it('require a secret of 16 bytes, and never quote it', () => {
    const short = { ...usual, secrets: [{ id: 'a', value: 'short-secret' }] }
    expect(problemsOf(short)).toEqual(['PROVIDERS.acme: secret a is shorter than 16 bytes'])
    expect(read({ ...short, acceptShortSecret: true }).scheme).toBe(scheme)
    expect(problemsOf({ ...usual, secrets: [] })).toHaveLength(1)
  })

  it('keep every header that the signature is checked with', () => {
    const { signedHeaders } = read(usual)
    expect(signedHeaders.length).toBeGreaterThan(0)
    expect(signedHeaders).toEqual(signedHeaders.map((name) => name.toLowerCase()))
  })
})

describe('the settings of square', () => {
  it.each([undefined, '', 'pay.example.com', '/api/webhooks/square', 'ftp://pay.example.com/'])(
    'demand the public address: %j is none',
    (publicUrl) => {
      expect(problemsOf({ scheme: 'square', publicUrl, secrets })).toEqual([
        expect.stringMatching(/^PROVIDERS\.acme\.publicUrl /),
      ])
    },
  )
})

describe('the settings of hook0', () => {
  it('pin a version that there is', () => {
    expect(read({ scheme: 'hook0', version: 'v1', effects: [], secrets }).scheme).toBe('hook0')
    expect(problemsOf({ scheme: 'hook0', version: 'v2', effects: [], secrets })).toEqual([
      expect.stringMatching(/^PROVIDERS\.acme\.version /),
    ])
  })
})
