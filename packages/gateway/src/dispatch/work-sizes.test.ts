import { describe, expect, it } from 'vitest'
import { lanesNow, workSizes } from './work-sizes.ts'

describe('a backlog', () => {
  it('gets half of the calls if they carry batches, so that deliveries are still accepted quickly', () => {
    const of = (concurrency: number) => lanesNow(workSizes({ batchSize: 500, concurrency }), true, 0)
    expect([of(4), of(2), of(1)]).toEqual([2, 1, 1])
  })

  it('makes no call while as many batches wait for their outcomes to be written', () => {
    const sizes = workSizes({ batchSize: 500, concurrency: 4 })
    expect([1, 2].map((unwritten) => lanesNow(sizes, true, unwritten))).toEqual([1, 0])
    expect(lanesNow(sizes, false, 2), 'if it grows').toBe(4)
  })

  it('gets all calls of a handler that takes one event in each', () => {
    const sizes = workSizes({ batchSize: 1, concurrency: 8, claimSize: 32 })
    expect([0, 31].map((unwritten) => lanesNow(sizes, true, unwritten))).toEqual([8, 8])
  })
})
