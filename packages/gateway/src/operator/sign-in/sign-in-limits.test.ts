import { rateLimited } from '@oncehook/kernel/http/error-codes'
import { describe, expect, it } from 'vitest'
import { createRateLimit } from '../../http/rate-limit.ts'
import { limitSignIn, refuseOverLimit } from './sign-in-limits.ts'

function startLimits() {
  let time = 1_000_000_000
  const createLimit = (limit: number) =>
    createRateLimit({ name: 'sign_in', limit, windowSeconds: 60, clock: { now: () => time } })
  const limits = { ofAddress: createLimit(2), ofAll: createLimit(3) }
  const attempt = async (address: string, act: () => Promise<string>) => {
    try {
      return await limitSignIn({ limits, address }, act)
    } catch (error) {
      return rateLimited.is(error) ? 'limited' : 'failed'
    }
  }
  return { limits, attempt, nextWindow: () => (time += 60_000) }
}
const succeed = async () => 'opened'
const fail = async () => Promise.reject(new Error('wrong'))

describe('limitSignIn', () => {
  it('refuses an address after its failures, and no other, until the next window', async () => {
    const { attempt, nextWindow } = startLimits()
    expect([await attempt('a', fail), await attempt('a', fail), await attempt('a', succeed)]).toEqual([
      ...['failed', 'failed', 'limited'],
    ])
    expect(await attempt('b', succeed)).toBe('opened')
    nextWindow()
    expect(await attempt('a', succeed)).toBe('opened')
  })

  it('refuses every address after the failures of all', async () => {
    const { attempt, limits } = startLimits()
    for (const address of ['a', 'b', 'c']) await attempt(address, fail)
    expect(await attempt('d', succeed)).toBe('limited')
    expect(() => refuseOverLimit({ limits, address: 'd' })).toThrow(rateLimited().message)
  })

  it('does not count what succeeds', async () => {
    const { attempt } = startLimits()
    for (let times = 0; times < 9; times += 1) expect(await attempt('a', succeed)).toBe('opened')
  })

  it('counts what is in progress', async () => {
    const { attempt } = startLimits()
    const gate = Promise.withResolvers<string>()
    const inProgress = ['a', 'a', 'b'].map((address) => attempt(address, () => gate.promise))
    expect([await attempt('a', succeed), await attempt('b', succeed)]).toEqual(['limited', 'limited'])
    gate.resolve('opened')
    expect(await Promise.all(inProgress)).toEqual(['opened', 'opened', 'opened'])
    expect(await attempt('a', succeed)).toBe('opened')
  })
})
