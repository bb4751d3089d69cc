import { describe, expect, it } from 'vitest'
import { IdlePace } from './pace.ts'

/** Looks every half second for some seconds. Resolves to the times of the questions. */
function questions(pace: IdlePace, clock: { now: number }, { seconds, isEmpty = () => true }: Looking): number[] {
  const asked: number[] = []
  for (const end = clock.now + seconds * 1_000; clock.now < end; clock.now += 500) {
    if (!pace.isTime) continue
    asked.push(clock.now)
    pace.answered(isEmpty(clock.now))
  }
  return asked
}

interface Looking {
  readonly seconds: number
  readonly isEmpty?: (now: number) => boolean
}

function createPace() {
  const clock = { now: 0 }
  return { clock, pace: new IdlePace({ leastMs: 500, mostMs: 2_000, now: () => clock.now }) }
}

describe('the pace of questions', () => {
  it('slows down while nothing is found', () => {
    const { pace, clock } = createPace()
    expect(questions(pace, clock, { seconds: 8 })).toEqual([0, 1_000, 3_000, 5_000, 7_000])
    expect(clock.now).toBe(8_000)
  })

  it('stays quick as long as something is found, and is quick again at once', () => {
    const { pace, clock } = createPace()
    expect(questions(pace, clock, { seconds: 2, isEmpty: () => false })).toEqual([0, 500, 1_000, 1_500])
    const isEmpty = (now: number): boolean => now !== 5_000
    expect(questions(pace, clock, { seconds: 5, isEmpty })).toEqual([2_000, 3_000, 5_000, 5_500, 6_500])
  })

  it('asks in time for what is known to become due, once', () => {
    const { pace, clock } = createPace()
    questions(pace, clock, { seconds: 8 })
    pace.expect(700)
    pace.expect(900)
    expect(pace.isTime).toBe(false)
    expect(questions(pace, clock, { seconds: 4 })).toEqual([9_000, 11_000])
    pace.expect(0)
    expect(pace.isTime).toBe(true)
  })
})
