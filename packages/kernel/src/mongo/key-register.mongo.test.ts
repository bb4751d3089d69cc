import { afterAll, beforeEach, expect, it } from 'vitest'
import { testDatabase } from '../testing/test-database.ts'
import { createTestKeys } from '../testing/test-encryption.ts'
import { createKeyRegister, type KeyRegister } from './key-register.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const keys = createTestKeys()

/** A process whose keys can be changed. */
function startProcess(processId: string, ...ids: string[]): { register: KeyRegister; use(...ids: string[]): void } {
  let current = keys.encryption(...ids)
  const following = new Proxy(current, { get: (_, name) => Reflect.get(current, name) })
  const register = createKeyRegister({ db, encryption: following, now: () => 0, processId })
  return {
    register,
    use(...next) {
      current = keys.encryption(...next)
    },
  }
}

/** As if all processes had noted their keys that much earlier. */
async function letPass(ms: number): Promise<void> {
  const at = { $subtract: ['$$one.at', ms] }
  const users = { $map: { input: '$users', as: 'one', in: { $mergeObjects: ['$$one', { at }] } } }
  await db.collection('encryption_keys').updateMany({}, [{ $set: { users } }])
}

beforeEach(async () => {
  await db.collection('encryption_keys').deleteMany({})
})

it('retires a key that every process had replaced before the rotation began', async () => {
  const [one, other] = [startProcess('one', 'old'), startProcess('other', 'old')]
  for (const { register } of [one, other]) await register.check()
  for (const process of [one, other]) {
    process.use('new', 'old')
    await process.register.check()
  }
  await letPass(30_000)
  await one.register.beginRotation('first')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: ['old'], inUse: [] })
  one.use('new')
  expect(await one.register.status()).toMatchObject({ missing: [] })
})

it('keeps a key for half a minute after a process has left it: a write by it may still arrive', async () => {
  const one = startProcess('one', 'old')
  await one.register.check()
  one.use('new', 'old')
  expect(await one.register.status()).toMatchObject({ firstKey: 'new', leaving: ['old'] })
  await letPass(20_000)
  await one.register.beginRotation('first')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: [], inUse: ['old'] })
  await letPass(10_000)
  expect(await one.register.status()).toMatchObject({ leaving: [] })
  await one.register.beginRotation('first')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: ['old'], inUse: [] })
})

it('keeps a key that a process has left and taken up again', async () => {
  const one = startProcess('one', 'old')
  await one.register.check()
  const checks: Promise<void>[] = []
  for (const ids of [
    ['new', 'old'],
    ['old', 'new'],
    ['new', 'old'],
    ['old', 'new'],
  ] as const) {
    one.use(...ids)
    checks.push(one.register.check())
  }
  await Promise.all(checks)
  await letPass(30_000)
  const other = startProcess('other', 'new', 'old')
  await other.register.beginRotation('first')
  expect(await other.register.retire('new', 'first')).toEqual({ retired: [], inUse: ['old'] })
})

it('keeps a key by which another process encrypts', async () => {
  const [one, other] = [startProcess('one', 'old'), startProcess('other', 'old')]
  for (const { register } of [one, other]) await register.check()
  one.use('new', 'old')
  await one.register.beginRotation('first')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: [], inUse: ['old'] })
  one.use('new')
  expect(await one.register.status()).toMatchObject({ missing: ['old'] })
})

it('forgets a process that has died after two minutes', async () => {
  await startProcess('dead', 'old').register.check()
  const one = startProcess('one', 'new', 'old')
  const longAgo = new Date(Date.now() - 200_000)
  await db.collection('encryption_keys').updateMany({}, { $set: { usedAt: longAgo, 'users.0.at': longAgo } })
  await one.register.beginRotation('first')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: ['old'], inUse: [] })
})

it('retires no key at the end of a rotation if another one has started since', async () => {
  const one = startProcess('one', 'old')
  await one.register.check()
  one.use('new', 'old')
  await one.register.beginRotation('first')
  await letPass(30_000)
  await one.register.beginRotation('second')
  expect(await one.register.retire('new', 'first')).toEqual({ retired: [], inUse: ['old'] })
  expect(await one.register.retire('new', 'second')).toEqual({ retired: ['old'], inUse: [] })
})
