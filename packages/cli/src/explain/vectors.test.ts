import { findSignedTime } from '@oncehook/gateway/webhooks/providers/observe'
import { parseProvidersSettings } from '@oncehook/webhooks/testing/providers-settings'
import { deliveryOf, readVectorFiles, secretsOf } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { explainDelivery } from './explain-delivery.ts'

/** Three of four are left out: each tries hundreds of ways. */
const EVERY = 4

describe.each(readVectorFiles())('explain with the vectors of $scheme', ({ scheme, cases }) => {
  // Without a certificate one would have to be fetched.
  const refused = cases.filter(
    ({ verdict, settings }) => verdict === 'refused' && (scheme !== 'paypal' || settings?.certificates !== undefined),
  )

  it('finds a cause for every refused one', async () => {
    for (const vector of refused.filter((_, index) => index % EVERY === 0)) {
      const secrets = secretsOf(vector)
      const entry = { acceptShortSecret: true, ...vector.settings, scheme, secrets }
      const settings = parseProvidersSettings({ p: entry }).p!
      const delivery = deliveryOf(vector)
      const given = {
        asked: { name: 'p', settings, secretTexts: secrets.map(({ value }) => value) },
        others: [],
        place: 'PROVIDERS',
        delivery,
        target: null,
        now: vector.now * 1000,
        fetch,
        signedTime: findSignedTime(settings, delivery),
      }
      const { acceptedBy, causes } = await explainDelivery(given, undefined)
      expect(acceptedBy, vector.why).toBeNull()
      expect(causes, vector.why).not.toEqual([])
      for (const { message, fix } of causes) {
        expect(`${message}${fix}`, vector.why).not.toMatch(/[0-9a-f]{40}|undefined|\p{Cc}/u)
        if (vector.secret.length > 0) expect(`${message}${fix}`, vector.why).not.toContain(vector.secret)
      }
    }
    expect(refused.length).toBeGreaterThan(4)
  })
})
