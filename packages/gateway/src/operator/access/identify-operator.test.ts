import { unauthenticated, unavailable } from '@oncehook/kernel/http/error-codes'
import { expect, it } from 'vitest'
import { AddressLimits } from '../../http/address-limits.ts'
import { limitTokenChecks } from './identify-operator.ts'

const LONG = 'x'.repeat(40_960)

/** Verifies in ten milliseconds. */
function open() {
  let ms = 0
  const time = { now: 1_000_000 }
  const clock = { now: () => time.now }
  const checks = { addresses: new AddressLimits({ failures: 100, windowSeconds: 10, clock }), now: () => ms }
  const verified: string[] = []
  const verify = async (token: string) => {
    verified.push(token)
    ms += 10
    if (token === 'away') throw unavailable()
    if (token !== 'valid') throw unauthenticated({ reason: 'invalid' })
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
  return { ask, verified, time }
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

it('a wait for the issuer is not charged', async () => {
  const { ask } = open()
  for (let n = 0; n < 40; n += 1) expect(await ask('192.0.2.1', 'away')).toBe('unavailable')
  expect(await ask('192.0.2.1', 'valid')).toBe('oidc:alice')
})
