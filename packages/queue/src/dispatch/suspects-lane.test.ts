import { describe, expect, it, vi } from 'vitest'
import { SuspectsLane } from './suspects-lane.ts'

/** A dispatcher that only records when it is asked. A group that it has taken ends when the test says so. */
class FakeDispatcher {
  isReady = true
  groups: number
  readonly handler: string
  readonly #told: string[]
  readonly #ends: (() => void)[]

  constructor(name: string, groups: number, { told, ends }: { told: string[]; ends: (() => void)[] }) {
    this.handler = name
    this.groups = groups
    this.#told = told
    this.#ends = ends
  }

  mayTrySuspects(): boolean {
    return this.isReady
  }

  async trySuspects(): Promise<boolean> {
    if (this.groups === 0) return false
    this.groups -= 1
    this.#told.push(this.handler)
    await new Promise<void>((resolve) => this.#ends.push(resolve))
    return true
  }
}

/** A lane over dispatchers that each have some groups of suspects. */
function setUp(groups: Readonly<Record<string, number>>) {
  const told: string[] = []
  const ends: (() => void)[] = []
  const errors: unknown[] = []
  const dispatchers = Object.entries(groups).map(([name, count]) => new FakeDispatcher(name, count, { told, ends }))
  const suspected = vi.fn(async () => Object.keys(groups))
  const clock = { now: 0 }
  const lane = new SuspectsLane({
    ...{ dispatchers: () => dispatchers, suspected, random: () => 0.5, now: () => clock.now },
    onError: (error) => errors.push(error),
  })
  const [first, second] = dispatchers
  if (first === undefined || second === undefined) throw new Error('A test has two dispatchers at least')
  const owned = { first, second, told, ends, errors, lane, dispatchers, suspected, clock }
  return { ...owned, [Symbol.dispose]: () => lane.stop() }
}

/** Ends the group in progress, and waits until the lane has gone as far as it can. */
async function endGroup(ends: (() => void)[]): Promise<void> {
  ends.shift()?.()
  await settled()
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve()
}

describe('SuspectsLane', () => {
  it('tries one group at a time, and lets handlers take turns', async () => {
    using lane = setUp({ a: 3, b: 1, c: 2 })
    lane.lane.start()
    await settled()
    const inTurn = ['a', 'b', 'c', 'a', 'c', 'a']
    for (const groups of inTurn.keys()) {
      expect(lane.told).toEqual(inTurn.slice(0, groups + 1))
      expect(lane.ends).toHaveLength(1)
      await endGroup(lane.ends)
    }
    expect(lane.told).toEqual(inTurn)
  })

  it('gives no turn to a dispatcher that takes none, and one to it as soon as it does', async () => {
    using lane = setUp({ a: 1, b: 3 })
    lane.first.isReady = false
    lane.lane.start()
    await settled()
    await endGroup(lane.ends)
    expect(lane.told).toEqual(['b', 'b'])
    lane.first.isReady = true
    await endGroup(lane.ends)
    expect(lane.told).toEqual(['b', 'b', 'a'])
  })

  it('takes no more once it is stopped, and does not wait for the group in progress', async () => {
    using lane = setUp({ a: 2, b: 2 })
    lane.lane.start()
    await settled()
    lane.lane.stop()
    await endGroup(lane.ends)
    expect(lane.told).toEqual(['a'])
  })

  it('goes on after some seconds if a group is not answered', async () => {
    using lane = setUp({ a: 1, b: 1 })
    lane.lane.start()
    await settled()
    expect(lane.told).toEqual(['a'])
    await expect.poll(() => lane.told).toEqual(['a', 'b'])
  })

  it('asks only the handlers that may have suspects, and once a minute all', async () => {
    using lane = setUp({ a: 1, b: 1 })
    lane.suspected.mockResolvedValue(['b'])
    lane.lane.start()
    await settled()
    await endGroup(lane.ends)
    expect(lane.told).toEqual(['b'])
    lane.clock.now += 60_000
    await expect.poll(() => lane.told).toEqual(['b', 'a'])
  })
})
