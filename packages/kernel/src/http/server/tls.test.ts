import { describe, expect, it } from 'vitest'
import { SettingsError } from '../../settings/settings.ts'
import { createTestAuthority } from '../../testing/certificates/issue-certificate.ts'
import { createClientTlsSource, createServerTlsSource } from './tls.ts'

const authority = await createTestAuthority('authority')
const [first, second] = [await authority.issue('first'), await authority.issue('second')]
const half = `${authority.ca}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
const cut = `${authority.ca}${authority.ca.slice(0, 200)}`

describe('the TLS settings of a listener', () => {
  const read = (env: NodeJS.ProcessEnv) => createServerTlsSource(env, 'A').read()

  it('are none if nothing is set', () => {
    expect(read({})).toBe(null)
  })

  it('are a certificate with its key, and authorities where client certificates are required', async () => {
    const env = { A_CERT: first.cert, A_KEY: first.key }
    expect(read(env)).toEqual({ ...first, clientCa: undefined })
    const clientCa = authority.ca + (await createTestAuthority('next')).ca
    expect(read({ ...env, A_CLIENT_CA: clientCa })).toEqual({ ...first, clientCa })
  })

  it.each([
    ['a certificate without its key', { A_CERT: first.cert }, ['A_CERT and A_KEY must be set together']],
    [
      'a chain whose second certificate is torn',
      { A_CERT: `${first.cert}${cut.slice(authority.ca.length)}`, A_KEY: first.key },
      ['A_CERT and A_KEY cannot be used for TLS: the content is invalid or a key is too weak'],
    ],
    ['the key of another', { A_CERT: first.cert, A_KEY: second.key }, ['A_KEY is not the key of A_CERT']],
    [
      'authorities alone: its clients would seem to be checked',
      { A_CLIENT_CA: authority.ca },
      ['A_CLIENT_CA requires A_CERT and A_KEY'],
    ],
    [
      'three texts that are nothing of the kind, each named',
      { A_CERT: 'canary', A_KEY: 'canary', A_CLIENT_CA: 'canary' },
      [
        'A_CLIENT_CA is not one or more certificates in PEM',
        'A_CERT is not a certificate in PEM',
        'A_KEY is not a private key in PEM without a passphrase',
      ],
    ],
  ])('are refused with %s', (_, env, problems) => {
    expect(() => read(env)).toThrow(new SettingsError(problems))
  })
})

describe('the TLS settings of a caller', () => {
  const read = (env: NodeJS.ProcessEnv) => createClientTlsSource(env, 'A').read()

  it('are none if nothing is set, or only one half', () => {
    expect(read({})).toBe(null)
    expect(read({ A_CA: authority.ca })).toEqual({ ca: authority.ca, pair: null })
    expect(read({ A_CLIENT_CERT: first.cert, A_CLIENT_KEY: first.key })).toEqual({ ca: undefined, pair: first })
  })

  it.each([
    ['broken', half],
    ['cut off', cut],
    ['a key', first.key],
  ])('are refused if one of the authorities is %s', (_, ca) => {
    expect(() => read({ A_CA: ca })).toThrow(new SettingsError(['A_CA is not one or more certificates in PEM']))
  })

  it('are refused with a certificate without its key', () => {
    const problem = 'A_CLIENT_CERT and A_CLIENT_KEY must be set together'
    expect(() => read({ A_CLIENT_CERT: first.cert })).toThrow(new SettingsError([problem]))
  })
})
