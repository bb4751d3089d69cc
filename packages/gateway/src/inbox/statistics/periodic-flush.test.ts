import { expect, it } from 'vitest'
import { createPeriodicFlush } from './periodic-flush.ts'

const HOUR_MS = 3_600_000

it('lets one write wait behind a slow one, however often it is asked', async () => {
  const begun: PromiseWithResolvers<void>[] = []
  const flusher = createPeriodicFlush(() => {
    const write = Promise.withResolvers<void>()
    begun.push(write)
    return write.promise
  }, HOUR_MS)
  const first = flusher.flush()
  await expect.poll(() => begun.length).toBe(1)
  const others = Array.from({ length: 100 }, () => flusher.flush())
  begun[0]?.resolve()
  await first
  await expect.poll(() => begun.length).toBe(2)
  begun[1]?.resolve()
  await Promise.all(others)
  expect(begun).toHaveLength(2)
})

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
