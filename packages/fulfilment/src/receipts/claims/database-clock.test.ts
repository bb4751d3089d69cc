import type { Db } from 'mongodb'
import { expect, it } from 'vitest'
import { DatabaseClock } from './receipt-claims.ts'

const NOW = Date.UTC(2026, 10, 21)

/** A clock whose database answers after 40 ms of this process. */
function createClock() {
  let ms = 0
  const answer = async () => {
    ms += 40
    return { localTime: new Date(NOW) }
  }
  const clock = new DatabaseClock({ command: answer } as unknown as Db, () => ms)
  const pass = (more: number): void => {
    ms += more
  }
  return { clock, pass }
}

it('knows no time before the database has said one', () => {
  expect(createClock().clock.estimate()).toBeNull()
})

it('continues from the last answer, counted from the request: never behind the database', async () => {
  const { clock, pass } = createClock()
  expect(await clock.now()).toEqual(new Date(NOW))
  pass(1_000)
  expect(clock.estimate()).toEqual(new Date(NOW + 1_040))
})

it('does not continue from an answer that is older than five seconds', async () => {
  const { clock, pass } = createClock()
  await clock.now()
  pass(4_960)
  expect(clock.estimate()).toEqual(new Date(NOW + 5_000))
  pass(1)
  expect(clock.estimate()).toBeNull()
  await clock.now()
  expect(clock.estimate()).toEqual(new Date(NOW + 40))
})
