import { type CommandStartedEvent, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../testing/test-database.ts'
import { addClockSkewGauge } from './database-clock.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const appName = `skew-${database.name}`
const options = { monitorCommands: true, appName, retryReads: false }
const client = stack.use(await new MongoClient(database.uri.reveal(), options).connect())
const asked: CommandStartedEvent[] = []
client.on('commandStarted', (event) => void asked.push(event))

function gauge(aheadMs: number) {
  const registry = new Registry()
  let time = 0
  const clock = { now: () => Date.now() + aheadMs }
  addClockSkewGauge(registry, { db: client.db(database.name), clock, now: () => time })
  return {
    pass: (ms: number) => (time += ms),
    async read(): Promise<number | null> {
      const [, value] = /^oncehook_clock_skew_seconds (\S+)$/m.exec(await registry.metrics()) ?? []
      return value === undefined ? null : Number(value)
    },
  }
}

describe('the gauge of clock skew', () => {
  it.each([3_600, 0, -3_600])('shows a clock that is %d s ahead', async (seconds) => {
    expect(Math.abs(((await gauge(seconds * 1_000).read()) ?? Number.NaN) - seconds)).toBeLessThan(5)
  })
})
