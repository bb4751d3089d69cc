import { expect, it } from 'vitest'
import { RunningBatches } from './running-batches.ts'

/** A batch whose call and whose write end when the test says so. */
function heldBatch() {
  const [called, settled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  return {
    batch: { way: 'new', called: called.promise, settled: settled.promise } as const,
    answer: () => called.resolve(),
    write: () => settled.resolve(),
  }
}

it('a batch frees its place when it has been called, and ends when its outcomes are written', async () => {
  const woken: string[] = []
  const running = new RunningBatches({ turn: undefined, mostUnsettled: 8, wake: () => void woken.push('free') })
  const { batch, answer, write } = heldBatch()
  running.add(batch, () => void woken.push('written'))
  expect(running.room?.underWay).toEqual(['new'])
  answer()
  await expect.poll(() => woken).toEqual(['free'])
  expect(running.room?.underWay).toEqual([])
  const ended = running.ended().then(() => woken.push('ended'))
  write()
  await ended
  expect(woken).toEqual(['free', 'written', 'ended'])
})

it('no batch begins while too many outcomes wait to be written', async () => {
  const running = new RunningBatches({ turn: undefined, mostUnsettled: 2, wake: () => undefined })
  const batches = [heldBatch(), heldBatch()]
  for (const { batch, answer } of batches) {
    running.add(batch, () => undefined)
    answer()
  }
  await expect.poll(() => running.room).toBeNull()
  batches[0]?.write()
  await expect.poll(() => running.room?.underWay).toEqual([])
})

it('what may kill the process waits until all outcomes are written', async () => {
  const running = new RunningBatches({ turn: undefined, mostUnsettled: 8, wake: () => undefined })
  const { batch, answer, write } = heldBatch()
  expect(running.room?.others).toBe('nothing')
  running.add(batch, () => undefined)
  answer()
  await expect.poll(() => running.room).toMatchObject({ underWay: [], others: 'batches' })
  write()
  await expect.poll(() => running.room?.others).toBe('nothing')
})
