import { describe, expect, it } from 'vitest'
import { chooseWorkers } from './choose-workers.ts'

describe('the number of workers', () => {
  it('is the one that was set, however many cores there are', () => {
    const available = { cores: 2, limitedBy: 'cores' } as const
    expect(chooseWorkers(3, available)).toEqual({ workers: 3, because: 'setting', cores: 2 })
  })

  it.each(['cores', 'cpu-limit'] as const)('is one per core with auto, limited by %s', (limitedBy) => {
    expect(chooseWorkers('auto', { cores: 6, limitedBy })).toEqual({ workers: 6, because: limitedBy, cores: 6 })
  })

  it('is at most 64', () => {
    expect(chooseWorkers('auto', { cores: 128, limitedBy: 'cores' })).toMatchObject({ workers: 64, cores: 128 })
  })
})
