import { expect, it } from 'vitest'
import { createPeriodicFlush } from './periodic-flush.ts'

it('writes automatically, and once more when it stops', async () => {
  let writes = 0
  const flusher = createPeriodicFlush(async () => {
    writes += 1
  }, 5)
  await expect.poll(() => writes).toBeGreaterThan(1)
  await flusher.stop()
  const before = writes
  await flusher.flush()
  expect(writes).toBe(before + 1)
})
