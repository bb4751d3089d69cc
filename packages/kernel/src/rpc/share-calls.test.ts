import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { shareCalls } from './share-calls.ts'

/** Callers that share a call, which ends when the test says so, and what it was called with. */
function openShared({ most = 100, patienceMs = 60_000 } = {}) {
  const calls: { readonly items: readonly number[]; readonly end: (error?: Error) => void }[] = []
  const call = (items: readonly number[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void => (error ? reject(error) : resolve(items.map((item) => item * 10)))
      calls.push({ items, end })
    })
  const share = shareCalls(call, { most, patienceMs })
  const itemsOf = () => calls.map(({ items }) => items)
  /** Begins the first call, with one item. */
  const begin = async () => {
    const result = share([1])
    await expect.poll(itemsOf).toEqual([[1]])
    return { result }
  }
  return { share, calls, itemsOf, begin }
}

describe('callers that share calls', () => {
  it('share the first one if they come at the same time, and each gets its own results', async () => {
    const { share, calls, itemsOf } = openShared()
    const all = Promise.all([share([1, 2]), share([]), share([3])])
    await expect.poll(itemsOf).toEqual([[1, 2, 3]])
    calls[0]?.end()
    expect(await all).toEqual([[10, 20], [], [30]])
  })

  it('share the next one if they come during a call', async () => {
    const { share, calls, itemsOf, begin } = openShared()
    const { result: first } = await begin()
    const others = Promise.all([share([2]), share([3])])
    calls[0]?.end()
    expect(await first).toEqual([10])
    await expect.poll(itemsOf).toEqual([[1], [2, 3]])
    calls[1]?.end()
    expect(await others).toEqual([[20], [30]])
  })

  it('share no more items than permitted, unless one caller has more', async () => {
    const { share, calls, itemsOf } = openShared({ most: 3 })
    const all = Promise.all([share([1, 2]), share([3, 4]), share([5, 6, 7, 8])])
    for (const [index] of [0, 1, 2].entries()) {
      await expect.poll(() => calls.length).toBe(index + 1)
      calls[index]?.end()
    }
    expect(await all).toEqual([
      [10, 20],
      [30, 40],
      [50, 60, 70, 80],
    ])
    expect(itemsOf()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6, 7, 8],
    ])
  })

  it('share its failure, which later callers do not see', async () => {
    const { share, calls } = openShared()
    const all = Promise.allSettled([share([1]), share([2])])
    await expect.poll(() => calls.length).toBe(1)
    calls[0]?.end(new Error('The database is away'))
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const later = share([3])
    await expect.poll(() => calls.length).toBe(2)
    calls[1]?.end()
    expect(await later).toEqual([30])
  })

  it('do not wait for a call that hangs, and share the next one beside it', async () => {
    const { share, calls, itemsOf, begin } = openShared({ patienceMs: 50 })
    const { result: hung } = await begin()
    const others = Promise.all([share([2]), share([3])])
    await expect.poll(itemsOf).toEqual([[1], [2, 3]])
    calls[1]?.end()
    expect(await others).toEqual([[20], [30]])
    const later = share([4])
    await expect.poll(itemsOf).toEqual([[1], [2, 3], [4]])
    calls[0]?.end(new Error('The connection is broken'))
    await expect(hung).rejects.toThrow('The connection is broken')
    calls[2]?.end()
    expect(await later).toEqual([40])
  })

  it('are at most two at a time, however slow all of them are', async () => {
    const { share, calls, itemsOf, begin } = openShared({ patienceMs: 20 })
    const { result: first } = await begin()
    const second = share([2])
    await expect.poll(itemsOf).toEqual([[1], [2]])
    const others = [share([3])]
    // Five times the patience: a third call would have begun, and nothing shows that none does.
    await sleep(100)
    others.push(share([4]))
    expect(itemsOf()).toEqual([[1], [2]])
    calls[1]?.end()
    expect(await second).toEqual([20])
    await expect.poll(itemsOf).toEqual([[1], [2], [3, 4]])
    calls[0]?.end()
    calls[2]?.end()
    expect(await Promise.all([first, ...others])).toEqual([[10], [30], [40]])
  })
})
