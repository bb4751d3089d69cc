import { describe, expect, it } from 'vitest'
import { releaseBuffer } from './raw-body.ts'

describe('releaseBuffer', () => {
  it('does not touch small buffers, and those that share memory', () => {
    const whole = Buffer.alloc(65_536, 'x')
    const [part, small] = [whole.subarray(0, 32_768), Buffer.alloc(1_000, 'x')]
    releaseBuffer(part)
    releaseBuffer(small)
    expect([whole.length, part.length, small.length]).toEqual([65_536, 32_768, 1_000])
  })
})
