import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { signers } from '@oncehook/webhooks/signing/signers'
import { describe, expect, it } from 'vitest'
import { findProviderEntries } from '../options/provider-entries.ts'
import { findPayer } from './find-payer.ts'

const NOW = Date.now()

async function find(providers: object, env: Readonly<Record<string, string>> = {}) {
  const readEnv = (name: string) => (name === 'PROVIDERS' ? JSON.stringify(providers) : env[name])
  const found = await findProviderEntries(undefined, readEnv, async () => null)
  if (typeof found === 'string') throw new Error(found)
  return findPayer(found, NOW)
}

/** The entry of a provider of this scheme, and whether `send` can pay through it. */
async function entryOf(scheme: string) {
  const secret = await makeDevelopmentSecret(scheme, NOW)
  const signer = signers.get(scheme)
  return {
    ...{ scheme, acceptShortSecret: true, effects: ['payment.succeeded', 'payment.failed'], expect: {} },
    ...(scheme === 'hmac' ? { header: 'x-signature' } : {}),
    ...(scheme === 'stripe' ? { testMode: true } : {}),
    ...(['hubspot', 'square', 'twilio'].includes(scheme) ? { publicUrl: 'https://pay.example.com/hook' } : {}),
    ...(SCHEMES.get(scheme)?.prepareConfirm === undefined
      ? {}
      : { fetch: { baseUrl: 'http://127.0.0.1', token: 'a:b' } }),
    ...signer?.mapping,
    ...secret.gatewaySettings,
    secrets: secret.value === null ? [] : [{ id: '1', value: secret.value }],
  }
}

describe('findPayer', () => {
  it.each([...signers])(
    'finds whether a payment of %s can be signed with the secret of the gateway',
    async (scheme, signer) => {
      const isImpossible = signer.needsPrivateKey === true || signer.describeObject !== undefined
      const found = await find({ shop: await entryOf(scheme) })
      expect(found).toMatchObject(
        isImpossible ? { problems: { shop: expect.stringMatching(/provider/) } } : { name: 'shop' },
      )
    },
  )

  it('takes the first provider through which a payment counts, and its first valid secret', async () => {
    const stripe = { scheme: 'stripe', secrets: [{ id: '1', value: 'whsec_0123456789abcdef' }] }
    const secrets = [
      { id: 'old', value: { env: 'OLD' }, notAfter: '2020-01-01T00:00:00Z' },
      { id: 'new', value: { env: 'NEW' } },
    ]
    const shop = { scheme: 'hmac', header: 'x-signature', effects: ['payment.succeeded'], secrets }
    const env = { OLD: 'a secret of sixteen', NEW: 'another secret of sixteen' }
    const hidden = { ...(await entryOf('discord')), effects: [] }
    expect(await find({ stripe, hidden, shop }, env)).toEqual({
      name: 'shop',
      secret: expect.objectContaining({ id: 'new' }),
    })
  })

  it.each([
    ['live events only', { scheme: 'stripe' }, /`livemode`.*\(not_expected\)/],
    ['another account', { scheme: 'stripe', testMode: true, expect: { '/account': 'acct_1' } }, /\(not_expected\)/],
    ['no effects', { scheme: 'stripe', testMode: true, effects: [] }, /\(effect_not_allowed\)/],
    ['no mapping', { scheme: 'github' }, /\(type_unhandled\)/],
    [
      'a secret that is not set',
      { scheme: 'stripe', secrets: [{ id: '1', value: { env: 'NONE' } }] },
      /NONE is not set/,
    ],
  ])('says why a payment would not count, and shows no secret: %s', async (_, settings, why) => {
    const value = 'whsec_0123456789abcdef'
    const found = await find({ psp: { secrets: [{ id: '1', value }], ...settings } })
    expect(found).toEqual({ problems: { psp: expect.stringMatching(why) } })
    expect(JSON.stringify(found)).not.toContain(value)
  })
})
