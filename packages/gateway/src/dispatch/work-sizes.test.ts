import { describe, expect, it } from 'vitest'
import { roomNow, workSizes } from './work-sizes.ts'

const GENTLE = { isGentle: true, unwritten: 0, allowed: Number.POSITIVE_INFINITY }

describe('a backlog', () => {
  it('gets half of the calls if they carry batches, so that deliveries are still accepted quickly', () => {
    const lanesOf = (concurrency: number) => roomNow(workSizes({ batchSize: 500, concurrency }), GENTLE).lanes
    expect([lanesOf(4), lanesOf(2), lanesOf(1)]).toEqual([2, 1, 1])
  })

  it('makes no call while as many batches wait for their outcomes to be written', () => {
    const sizes = workSizes({ batchSize: 500, concurrency: 4 })
    expect([1, 2].map((unwritten) => roomNow(sizes, { ...GENTLE, unwritten }).lanes)).toEqual([1, 0])
    expect(roomNow(sizes, { ...GENTLE, isGentle: false, unwritten: 2 }).lanes, 'if it grows').toBe(4)
  })

  it('gets small batches, and full ones if it grows', () => {
    const limitOf = (batchSize: number, isGentle: boolean) =>
      roomNow(workSizes({ batchSize, concurrency: 2 }), { ...GENTLE, isGentle }).limit
    expect([limitOf(500, true), limitOf(500, false), limitOf(50, true)]).toEqual([125, 500, 50])
    expect(roomNow(workSizes({ batchSize: 500, concurrency: 2 }), { ...GENTLE, allowed: 7 }).limit).toBe(7)
  })

  it('gets all calls of a handler that takes one event in each', () => {
    const sizes = workSizes({ batchSize: 1, concurrency: 8, claimSize: 32 })
    expect([0, 31].map((unwritten) => roomNow(sizes, { ...GENTLE, unwritten }).lanes)).toEqual([8, 8])
  })
})
