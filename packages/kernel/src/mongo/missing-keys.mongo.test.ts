import { Registry } from 'prom-client'
import { afterAll, expect, it } from 'vitest'
import { testDatabase } from '../testing/test-database.ts'
import { createTestKeys } from '../testing/test-encryption.ts'
import { addMissingKeysGauge, createKeyRegister, type KeyRegister } from './key-register.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const keys = createTestKeys()

function startProcess(processId: string, ...ids: string[]): { register: KeyRegister; missing(): Promise<unknown> } {
  const register = createKeyRegister({ db, encryption: keys.encryption(...ids), now: () => 0, processId })
  const registry = new Registry()
  addMissingKeysGauge(registry, register)
  return {
    register,
    async missing() {
      const [metric] = await registry.getMetricsAsJSON()
      return metric?.values.map(({ value }) => value)
    },
  }
}

it('counts the keys that records need and this process does not have, until it has them', async () => {
  const first = startProcess('first', 'old')
  const second = startProcess('second', 'older')
  expect(await first.missing()).toEqual([0])
  await first.register.check()
  await second.register.check()
  expect(await first.missing()).toEqual([1])
  expect(await startProcess('third', 'new').missing()).toEqual([2])
  expect(await startProcess('without keys').missing()).toEqual([2])
  expect(await startProcess('mended', 'new', 'old', 'older').missing()).toEqual([0])
})
