import { unauthenticated, unavailable } from '@oncehook/kernel/http/error-codes'
import { expect, it } from 'vitest'
import { AddressLimits } from '../../http/address-limits.ts'
import { KnownTokens, limitTokenChecks } from './identify-operator.ts'

const LONG = 'x'.repeat(40_960)

/** Verifies in ten milliseconds. */
function open() {
  let ms = 0
  const time = { now: 1_000_000 }
  const clock = { now: () => time.now }
  const addresses = new AddressLimits({ failures: 100, windowSeconds: 10, clock })
  const checks = { addresses, known: new KnownTokens(), now: () => ms }
  const verified: string[] = []
  const revoked = new Set<string>()
  const verify = async (token: string) => {
    verified.push(token)
    ms += 10
    if (token === 'away') throw unavailable()
    if (!/^(?:also )?valid$/.test(token) || revoked.has(token)) throw unauthenticated({ reason: 'invalid' })
    return {
      name: 'oidc:alice',
      roles: new Set<never>(),
      identity: { issuer: 'https://login.example.com', name: null },
    }
  }
  const ask = async (address: string, token = LONG): Promise<string> => {
    try {
      return (await limitTokenChecks(verify, checks, address)(token)).name
    } catch (error) {
      return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unexpected'
    }
  }
  return { ask, verified, revoked, time }
}

it('forged tokens of an address are verified for a tenth of a second in each second', async () => {
  const { ask, verified, time } = open()
  const answers: string[] = []
  for (let n = 0; n < 15; n += 1) answers.push(await ask('192.0.2.1'))
  expect(answers).toEqual([...Array(10).fill('unauthenticated'), ...Array(5).fill('rate_limited')])
  expect(verified).toHaveLength(10)
  expect(await ask('192.0.2.2', 'valid')).toBe('oidc:alice')
  time.now += 1_000
  expect(await ask('192.0.2.1')).toBe('unauthenticated')
})

it('forged tokens of an address keep out no token that was valid before, until that is refused itself', async () => {
  const { ask, revoked } = open()
  expect(await ask('192.0.2.2', 'valid')).toBe('oidc:alice')
  for (let n = 0; n < 15; n += 1) await ask('192.0.2.1')
  expect([await ask('192.0.2.1', 'valid'), await ask('192.0.2.1', 'also valid')]).toEqual([
    'oidc:alice',
    'rate_limited',
  ])
  revoked.add('valid')
  expect([await ask('192.0.2.1', 'valid'), await ask('192.0.2.1', 'valid')]).toEqual([
    'unauthenticated',
    'rate_limited',
  ])
})

it('a wait for the issuer is not charged', async () => {
  const { ask } = open()
  for (let n = 0; n < 40; n += 1) expect(await ask('192.0.2.1', 'away')).toBe('unavailable')
  expect(await ask('192.0.2.1', 'valid')).toBe('oidc:alice')
})
