import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { describe, expect, it } from 'vitest'
import { createHandler, type HandlerOptions, HandlerSettingsError } from './create-handler.ts'
import { readEvent } from './handler-event.ts'
import { checkOptions, findFunctions } from './handler-options.ts'
import { postgres } from './postgres/postgres.ts'
import { LIMITS_MS } from './run-work.ts'
import type { Store } from './store.ts'
import { SECRET } from './testing/signed-request.ts'

const options: HandlerOptions<never> = { name: 'test', store: {} as Store<never>, secrets: SECRET, on: {} }

const PAIR = newServiceKeyPair()

describe('the options', () => {
  it.each([
    [{ secrets: 'whsec_' }, /secret/],
    [{ secrets: [] }, /secrets/],
    [{ name: '' }, /^name must be/],
    [{ name: 'a:b' }, /^name must be/],
    [{ name: undefined as never }, /^name must be/],
    [{ path: 'webhooks' }, /^path must start/],
    [{ path: '/livez' }, /^path must start/],
    [{ on: { 'a*': () => undefined } }, /"a\*" is neither a type nor a pattern/],
    [{ on: { a: 1 as never } }, /on: "a" is not a function/],
    [{ later: { a: 1 as never } }, /later: "a" is not a function/],
    [{ keepKeysDays: 1 }, /^keepKeysDays must be a whole number from 7 to 3650$/],
    [{ timeoutMs: Number.NaN }, /^timeoutMs must be/],
    [{ mostBodyBytes: 1_000 }, /^mostBodyBytes must be at least maxBytes$/],
    [
      { trpc: { publicKeys: PAIR.publicKey, path: '/a/' }, path: '/a/events.handle' },
      /^trpc\.path leads to the same path as path$/,
    ],
    [{ trpc: { publicKeys: PAIR.publicKey, audience: '' } }, /^trpc\.audience must be a text of 1 to 255 characters$/],
    [{ trpc: { publicKeys: 'none' } }, /^trpc\.publicKeys must be one to 5 public Ed25519 keys in PEM/],
    [{ trpc: { publicKeys: PAIR.privateKey } }, /^trpc\.publicKeys is a private key: give it the public one/],
    [
      { trpc: { publicKeys: PAIR.publicKey, path: 'trpc', answerMs: 0 } },
      /^trpc\.path must .*; trpc\.answerMs must be/,
    ],
    [{ secrets: undefined as never }, /secrets/],
    [{ laterLimits: { attempts: 0 } }, /^laterLimits\.attempts must be/],
  ] as const)('%j are refused', (change, problem) => {
    const caught = catchError(() => createHandler({ ...options, ...change }))
    expect(caught).toBeInstanceOf(HandlerSettingsError)
    expect((caught as HandlerSettingsError).problems.join('; ')).toMatch(problem)
    expect(String(caught)).not.toContain(SECRET.slice(6))
  })

  it('report all problems at once', () => {
    const caught = catchError(() => createHandler({ ...options, name: '', path: '', maxBytes: 0 }))
    expect((caught as HandlerSettingsError).problems).toHaveLength(3)
  })
})

it('a slow event is answered before the gateway gives up, by https and by trpc, even if its rollback takes long', () => {
  const { limits, trpc } = checkOptions({ ...options, trpc: { publicKeys: PAIR.publicKey } }, Date.now)
  const gatewayMs = 10_000
  const answerMs = trpc?.answerMs ?? 0
  expect(limits.timeoutMs + LIMITS_MS.rollback).toBeLessThan(answerMs)
  expect(answerMs).toBeLessThan(gatewayMs)
})

it('keys are kept for longer than the 90 days in which the gateway can replay an event', () => {
  expect(checkOptions(options, Date.now).limits.keepKeysDays).toBeGreaterThan(90)
})

describe('the function for a type', () => {
  it('is the exact one, then that of the longest pattern', () => {
    const find = findFunctions({ '*': 'all', 'a.*': 'a', 'a.b.*': 'ab', 'a.b.c': 'abc' })
    const found = ['a.b.c', 'a.b.d', 'a.c', 'a', 'ab.c', 'toString'].map(find)
    expect(found).toEqual(['abc', 'ab', 'a', 'all', 'all', 'all'])
    expect(findFunctions({ 'a.*': 'a' })('b')).toBeUndefined()
    expect(findFunctions({})('constructor')).toBeUndefined()
  })
})

describe('an event', () => {
  const read = (body: unknown) => readEvent('msg_1', Buffer.from(JSON.stringify(body)))

  it.each([
    [{ timestamp: '2026-11-01T12:00:00Z' }, '2026-11-01T12:00:00.000Z'],
    [{ created_at: 1_793_534_400 }, '2026-11-01T12:00:00.000Z'],
    [{ created: 1_793_534_400 }, '2026-11-01T12:00:00.000Z'],
    [{ timestamp: 1_764_338_400_123 }, '2025-11-28T14:00:00.123Z'],
    [{ timestamp: '1764338400123' }, '2025-11-28T14:00:00.123Z'],
    [{ timestamp: '1764338400' }, '2025-11-28T14:00:00.000Z'],
    [{ created: 1_764_338_400.5 }, '2025-11-28T14:00:00.500Z'],
    [{ timestamp: 1_764_338_400_123_456 }, '2025-11-28T14:00:00.123Z'],
    [{ timestamp: 1_764_338_400_123_456_800 }, '2025-11-28T14:00:00.123Z'],
    [{ created: 1 }, '1970-01-01T00:00:01.000Z'],
    [{ timestamp: '2026' }, '2026-01-01T00:00:00.000Z'],
    [{ timestamp: 1e30 }, null],
    [{ timestamp: 'yesterday' }, null],
    [{ timestamp: {} }, null],
    [{}, null],
  ])('with %j happened at %s', (body, at) => {
    expect(read({ type: 'a', ...body })?.occurredAt?.toISOString() ?? null).toBe(at)
  })

  it.each([
    [{ id: 'in_1' }, 'in_1'],
    [{ object: { id: 'sub_1' } }, 'sub_1'],
    [{ id: 'evt_1', object: { name: 'a' } }, 'evt_1'],
    [{ id: 7 }, '7'],
    [{ id: '' }, null],
    [[], null],
    [undefined, null],
  ])('with the data %j is about %s', (data, objectId) => {
    expect(read({ type: 'a', data })).toMatchObject({ key: 'msg_1', type: 'a', objectId })
  })
})

it('the isolation of PostgreSQL is one of three', () => {
  const pool = { connect: async () => Promise.reject(), on: () => undefined }
  const isolation = 'serializable; drop table users' as never
  expect(catchError(() => postgres(pool, { isolation }))).toBeInstanceOf(HandlerSettingsError)
})

function catchError(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}
