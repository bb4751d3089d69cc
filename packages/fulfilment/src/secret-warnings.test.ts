import { randomBytes } from 'node:crypto'
import { createTestAuthority } from '@oncehook/kernel/testing/certificates/issue-certificate'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { expect, it } from 'vitest'
import { fulfilmentSchema, readFulfilmentSettings } from './settings.ts'

const { cert, key } = await (await createTestAuthority('authority')).issue('fulfilment')
const text = randomBytes(32).toString('base64')

/** Every setting that holds a secret: its place, and the setting with this secret. */
const HOLDERS: Readonly<Record<string, (secret: string) => Readonly<Record<string, string>>>> = {
  MONGODB_URI: (secret) => ({ MONGODB_URI: `mongodb://u:${encodeURIComponent(secret)}@127.0.0.1` }),
  'ENCRYPTION_KEYS.k': (secret) => ({ ENCRYPTION_KEYS: JSON.stringify({ k: secret }) }),
  'RECEIPT_SECRET.1': (secret) => ({ RECEIPT_SECRET: `whsec_${secret}` }),
  RECEIPT_SINK: (secret) => ({
    RECEIPT_SINK: `smtp://u:${encodeURIComponent(secret)}@mail.example`,
    RECEIPT_FROM: 'shop@example.com',
  }),
}

const warningsOf = (settings: Readonly<Record<string, string>>) => {
  const usual = { MONGODB_URI: 'mongodb://127.0.0.1', SERVICE_PUBLIC_KEYS: newServiceKeyPair().publicKey }
  return readFulfilmentSettings({ ...usual, ...settings }).findSecretWarnings()
}

const places = Object.keys(HOLDERS)
const PAIRS = places.flatMap((one, at) => places.slice(at + 1).map((other) => [one, other] as const))

it('every setting that can hold a secret is tried here', () => {
  const named = Object.keys(fulfilmentSchema.shape).filter((name) => /SECRET|TOKEN|KEY|URI|SINK/.test(name))
  const tried = new Set(places.map((place) => place.split('.')[0]))
  expect(named.filter((name) => !tried.has(name)).toSorted()).toEqual(['FULFILMENT_TLS_KEY', 'SERVICE_PUBLIC_KEYS'])
})

it.each(PAIRS)('a secret of %s that %s holds too is reported with both places', (one, other) => {
  expect(warningsOf({ ...HOLDERS[one]?.(text), ...HOLDERS[other]?.(text) })).toEqual([
    { is: 'shared', places: [one, other].toSorted() },
  ])
})

it('the key of the certificate is reported too', () => {
  const tls = { FULFILMENT_TLS_CERT: cert, FULFILMENT_TLS_KEY: key }
  expect(warningsOf({ ...tls, ...HOLDERS.MONGODB_URI?.(key) })).toEqual([
    { is: 'shared', places: ['FULFILMENT_TLS_KEY', 'MONGODB_URI'] },
  ])
})
