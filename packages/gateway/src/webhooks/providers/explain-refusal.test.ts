import { createHmac } from 'node:crypto'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { deliveryOf, readVectorFiles, secretsOf, type Vector } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { prepareExplanation } from './explain-refusal.ts'

const NOW = 1_760_000_000_000

function providerOf(scheme: string, vector: Vector) {
  const secrets = secretsOf(vector)
  return makeProvider({ settings: { scheme, ...vector.settings }, secrets }, prepareExplanation)
}

function github(...secrets: readonly { readonly value: string; readonly notAfter?: string }[]) {
  return makeProvider({ settings: { scheme: 'github' }, secrets }, prepareExplanation)
}

function githubDelivery(secret: string, text = '{"zen":"Keep it."}') {
  const rawBody = Buffer.from(text)
  const signature = `sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`
  return { rawBody, rawHeaders: ['X-Hub-Signature-256', signature], query: '' }
}

describe.each(readVectorFiles())('an explanation of $scheme', ({ scheme, cases }) => {
  const refused = cases.filter(({ verdict }) => verdict === 'refused')

  it('has a cause for every refused vector, and shows no secret, no header value and no body', () => {
    for (const vector of refused) {
      const delivery = deliveryOf(vector)
      const causes = providerOf(scheme, vector).explain(delivery, vector.now * 1_000)
      expect(causes.length, vector.why).toBeGreaterThan(0)
      const text = JSON.stringify(causes)
      const hidden = [vector.secret, delivery.rawBody.toString('latin1'), ...vector.headers.map(([, value]) => value)]
      for (const value of hidden.filter(({ length }) => length > 20)) expect(text).not.toContain(value)
    }
  })

  it('observes the headers if the body was not read', () => {
    for (const vector of refused) {
      const { rawHeaders, query } = deliveryOf(vector)
      const causes = providerOf(scheme, vector).explain({ rawHeaders, query, rawBody: undefined }, vector.now * 1_000)
      expect(causes.filter(({ proved }) => proved)).toEqual([])
    }
  })
})

describe('an explanation', () => {
  it('proves that a secret has expired', () => {
    const provider = github(
      { value: 'the newer secret' },
      { value: 'the older secret', notAfter: '2025-01-01T00:00:00Z' },
    )
    expect(provider.explain(githubDelivery('the older secret'), NOW)).toMatchObject([
      { cause: 'secret_ended', proved: true, message: expect.stringContaining('s2') },
    ])
  })

  it('proves nothing for a body that is expensive to check', () => {
    const provider = github(
      { value: 'the newer secret' },
      { value: 'the older secret', notAfter: '2025-01-01T00:00:00Z' },
    )
    const large = githubDelivery('the older secret', `{"zen":"${'x'.repeat(70_000)}"}`)
    expect(provider.explain(large, NOW)).toMatchObject([{ cause: 'unknown', proved: false }])
  })

  it.each([
    [{ scheme: 'stripe' }, true],
    [{ scheme: 'stripe', testMode: false }, true],
    [{ scheme: 'stripe', testMode: true }, false],
    [{ scheme: 'stripe', testMode: true, expect: {} }, false],
    [{ scheme: 'github', expect: { '/livemode': false } }, false],
    [{ scheme: 'github', expect: { '/livemode': true } }, true],
  ])(
    'of a test event by %j suspects the secret of the test environment only if another is expected: %s',
    (settings, isSuspected) => {
      const provider = makeProvider({ settings, secrets: [{ value: 'a secret of the test' }] }, prepareExplanation)
      const rawHeaders = ['Stripe-Signature', `t=${NOW / 1_000},v1=${'0'.repeat(64)}`]
      const rawBody = Buffer.from('{"id":"evt_1","livemode": false}')
      const causes = provider.explain({ rawHeaders, rawBody, query: '' }, NOW).map(({ cause }) => cause)
      expect(causes.length).toBeGreaterThan(0)
      expect(causes.includes('test_mode')).toBe(isSuspected)
    },
  )

  it('does not show a time of an unknown form, which may be a part of a signature', () => {
    const secrets = [{ value: 'a secret of stripe' }]
    const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets }, prepareExplanation)
    const rawHeaders = ['Stripe-Signature', 't=5f1c0ffee,v1=00']
    const [cause] = provider.explain({ rawHeaders, rawBody: Buffer.from('{}'), query: '' }, NOW)
    expect(cause).toMatchObject({ cause: 'clock', message: 'The time in stripe-signature has an unknown format' })
  })
})
