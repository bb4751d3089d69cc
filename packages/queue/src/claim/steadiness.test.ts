import { expect, it } from 'vitest'
import { Steadiness } from './steadiness.ts'

function setUp() {
  const clock = { now: 5_000 }
  return {
    clock,
    steadiness: new Steadiness(
      10_000,
      () => clock.now,
      async () => undefined,
    ),
  }
}

const failing = (): Promise<never> => Promise.reject(new Error('no answer'))

it('begins when the process begins, and not before it has lasted', () => {
  const { clock, steadiness } = setUp()
  expect(steadiness.isSteady).toBe(false)
  clock.now += 9_999
  expect(steadiness.isSteady).toBe(false)
  clock.now += 1
  expect(steadiness.isSteady).toBe(true)
})

it('ends with a command that fails, which still fails for its caller, and comes back with the next that succeeds', async () => {
  const { clock, steadiness } = setUp()
  clock.now += 10_000
  await steadiness.watch(Promise.resolve())
  await expect(steadiness.watch(failing())).rejects.toThrow('no answer')
  expect(steadiness.isSteady).toBe(false)
  await steadiness.watch(Promise.resolve())
  expect(steadiness.isSteady, 'one failure among others is no outage').toBe(true)
})

it('begins again after an outage, in which no command succeeded for more than two seconds', async () => {
  const { clock, steadiness } = setUp()
  clock.now += 10_000
  await steadiness.watch(Promise.resolve())
  for (const ms of [1_000, 1_001]) {
    clock.now += ms
    await expect(steadiness.watch(failing())).rejects.toThrow('no answer')
  }
  await steadiness.watch(Promise.resolve())
  clock.now += 9_999
  expect(steadiness.isSteady).toBe(false)
  clock.now += 1
  expect(steadiness.isSteady).toBe(true)
})

it('begins again when no majority confirms a write, even if searches are answered', async () => {
  const clock = { now: 10_000 }
  let isAway = true
  const confirm = () => (isAway ? failing() : Promise.resolve())
  const steadiness = new Steadiness(10_000, () => clock.now, confirm)
  clock.now += 10_000
  await steadiness.watch(Promise.resolve())
  await expect(steadiness.confirm()).rejects.toThrow('no answer')
  await steadiness.watch(Promise.resolve())
  expect(steadiness.isSteady).toBe(false)
  isAway = false
  await steadiness.confirm()
  clock.now += 10_000
  expect(steadiness.isSteady).toBe(true)
})

it('confirms a write before claims only after a failure', async () => {
  let confirmed = 0
  const steadiness = new Steadiness(
    0,
    () => 0,
    async () => {
      confirmed += 1
    },
  )
  await steadiness.confirmIfDoubtful()
  expect(confirmed).toBe(0)
  await expect(steadiness.watch(failing())).rejects.toThrow('no answer')
  await steadiness.confirmIfDoubtful()
  await steadiness.confirmIfDoubtful()
  expect(confirmed).toBe(1)
})
