import { describe, expect, it } from 'vitest'
import { workSizes } from './work-sizes.ts'

describe('a backlog', () => {
  it('gets half of the calls if they carry batches, so that deliveries are still accepted quickly', () => {
    expect(workSizes({ batchSize: 500, concurrency: 4 })).toMatchObject({ lanes: 4, gentleLanes: 2 })
    expect(workSizes({ batchSize: 500, concurrency: 1 })).toMatchObject({ lanes: 1, gentleLanes: 1 })
  })

  it('gets all calls of a handler that takes one event in each', () => {
    expect(workSizes({ batchSize: 1, concurrency: 8, claimSize: 32 })).toMatchObject({ lanes: 8, gentleLanes: 8 })
  })
})
