import { Registry } from 'prom-client'
import { afterAll, expect, it } from 'vitest'
import { testDatabase } from '../testing/test-database.ts'
import { addClockSkewGauge } from './database-clock.ts'

const database = await testDatabase(process.env)
afterAll(() => database[Symbol.asyncDispose]())

it.each([3_600, 0, -3_600])('the gauge of clock skew shows a clock that is %d s ahead', async (seconds) => {
  const registry = new Registry()
  addClockSkewGauge(registry, { db: database.db, clock: { now: () => Date.now() + seconds * 1_000 } })
  const [, value] = /^oncehook_clock_skew_seconds (\S+)$/m.exec(await registry.metrics()) ?? []
  expect(Math.abs(Number(value) - seconds)).toBeLessThan(5)
})
