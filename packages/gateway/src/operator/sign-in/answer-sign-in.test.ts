import type { IncomingMessage, ServerResponse } from 'node:http'
import { rateLimited } from '@oncehook/kernel/http/error-codes'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { describe, expect, it } from 'vitest'
import type { Role } from '../../http/authentication.ts'
import { createRateLimit } from '../../http/rate-limit.ts'
import type { TakeTurn } from '../turns.ts'
import { limitSignIn, openSession, refuseOverLimit } from './answer-sign-in.ts'

const credential = new Secret('the-token-of-alice')
const operator = {
  ...{ name: 'alice', roles: new Set(['read'] as const), identity: null, endsAt: 1_000, credential, session: null },
}
const issued = { text: new Secret('ohs_of-alice'), endsAt: 1_000, id: 'id' }

it('a session is opened after its entry in the audit log, and not without', async () => {
  const steps: unknown[] = []
  const signIns = {
    createSession: async (...given: readonly unknown[]) => {
      steps.push(given)
      return issued
    },
  }
  const unused = () => Promise.reject(new Error('A sign-in does not need it'))
  const rest = { has: unused, list: unused, strays: unused, verify: unused }
  const record = async ({ by, action }: { readonly by: string; readonly action: string }) => {
    steps.push([by, action])
  }
  const cookies: string[] = []
  const exchange = {
    request: { headers: { host: 'hooks.example' } } as IncomingMessage,
    response: {
      setHeader: (_: string, set: readonly string[]) => void cookies.push(...set),
    } as unknown as ServerResponse,
  }
  const signedIn = { credential, operator }
  const takeTurn: TakeTurn = (_, task) => task()
  const known = { add: (token: string) => void steps.push(token) }
  expect(
    await openSession({ signIns, takeTurn, known, openAudit: () => ({ ...rest, record }) }, signedIn, exchange),
  ).toEqual({ ...{ operator: 'alice', roles: ['read'], expiresAt: '1970-01-01T00:00:01.000Z' } })
  expect(cookies.slice(-1)).toEqual(['oncehook-session=ohs_of-alice; Path=/operator/; HttpOnly; SameSite=Strict'])
  expect(steps).toEqual([['alice', 'sign_in.opened'], [credential, operator], 'ohs_of-alice'])

  steps.length = 0
  const full = () => ({ ...rest, record: () => Promise.reject(new Error('the audit log is away')) })
  await expect(openSession({ signIns, takeTurn, known, openAudit: full }, signedIn, exchange)).rejects.toThrow(
    'is away',
  )
  const nobody = { credential, operator: { ...operator, roles: new Set<Role>() } }
  const opening = openSession({ signIns, takeTurn, known, openAudit: () => ({ ...rest, record }) }, nobody, exchange)
  await expect(opening).rejects.toMatchObject({ code: 'role_missing' })
  expect(steps).toEqual([])
})

function startLimits() {
  let time = 1_000_000_000
  const createLimit = (limit: number) =>
    createRateLimit({ name: 'sign_in', limit, windowSeconds: 60, clock: { now: () => time } })
  const limits = { ofAddress: createLimit(2), ofAll: createLimit(3) }
  const attempt = async (address: string, act: () => Promise<string>) => {
    try {
      return await limitSignIn(limits, address, act)
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

  it('after the failures of all, refuses every address that has one of them, and no other', async () => {
    const { attempt, limits } = startLimits()
    for (const address of ['a', 'b', 'c']) await attempt(address, fail)
    expect(await attempt('a', succeed)).toBe('limited')
    expect(() => refuseOverLimit(limits, 'a')).toThrow(rateLimited().message)
    expect(await attempt('d', succeed)).toBe('opened')
    expect([await attempt('d', fail), await attempt('d', succeed)]).toEqual(['failed', 'limited'])
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
