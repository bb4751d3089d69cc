import { describe, expect, it } from 'vitest'
import { ownDuplicates } from './own-duplicates.ts'

describe('ownDuplicates', () => {
  it('does not count a task as stored because another task of its event is', () => {
    const writeErrors = [
      { index: 0, code: 11_000, keyPattern: { provider: 1, eventId: 1 } },
      { index: 1, code: 11_000, keyPattern: { provider: 1, eventId: 1, handler: 1 } },
      { index: 2, code: 11_000 },
    ]
    const verdicts = ownDuplicates({ writeErrors }, ['duplicate', 'duplicate', 'duplicate', 'stored'])
    expect(verdicts).toEqual(['unknown', 'duplicate', 'unknown', 'stored'])
  })
})
