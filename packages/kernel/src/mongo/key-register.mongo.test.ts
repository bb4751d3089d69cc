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

beforeEach(async () => {
  await db.collection('encryption_keys').deleteMany({})
})

it('lets a key go that every process has left before the rotation began', async () => {
  const [one, other] = [startProcess('one', 'old'), startProcess('other', 'old')]
  for (const { register } of [one, other]) await register.check()
  for (const process of [one, other]) {
    process.use('new', 'old')
    await process.register.check()
  }
  await one.register.beginRotation()
  expect(await one.register.retire('new')).toEqual({ retired: ['old'], inUse: [] })
  one.use('new')
  expect(await one.register.status()).toMatchObject({ missing: [] })
})

it('keeps a key by which another process encrypts', async () => {
  const [one, other] = [startProcess('one', 'old'), startProcess('other', 'old')]
  for (const { register } of [one, other]) await register.check()
  one.use('new', 'old')
  await one.register.beginRotation()
  expect(await one.register.retire('new')).toEqual({ retired: [], inUse: ['old'] })
  one.use('new')
  expect(await one.register.status()).toMatchObject({ missing: ['old'] })
})

it('keeps a key that another process has left after the rotation began, until the next one', async () => {
  const [one, other] = [startProcess('one', 'old'), startProcess('other', 'old')]
  for (const { register } of [one, other]) await register.check()
  one.use('new', 'old')
  await one.register.beginRotation()
  other.use('new', 'old')
  await other.register.check()
  expect(await one.register.retire('new')).toEqual({ retired: [], inUse: ['old'] })
  await one.register.beginRotation()
  expect(await one.register.retire('new')).toEqual({ retired: ['old'], inUse: [] })
})

it('lets no key go for a process that encrypts by another one than the rotation', async () => {
  const one = startProcess('one', 'old')
  await one.register.check()
  one.use('newest', 'new', 'old')
  await one.register.beginRotation()
  expect(await one.register.retire('new')).toEqual({ retired: [], inUse: ['newest', 'old'] })
})

it('forgets a process that has died after two minutes', async () => {
  await startProcess('dead', 'old').register.check()
  const one = startProcess('one', 'new', 'old')
  const longAgo = new Date(Date.now() - 200_000)
  await db.collection('encryption_keys').updateMany({}, { $set: { usedAt: longAgo, 'users.0.at': longAgo } })
  await one.register.beginRotation()
  expect(await one.register.retire('new')).toEqual({ retired: ['old'], inUse: [] })
})
