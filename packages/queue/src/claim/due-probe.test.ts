import { describe, expect, it } from 'vitest'
import { shareLook } from './due-probe.ts'

function setUp(look: (looks: number) => Promise<number> = async (looks) => looks) {
  const clock = { now: 0 }
  let looks = 0
  const shared = shareLook({
    look() {
      looks += 1
      return look(looks)
    },
    keepMs: () => 1_000,
    now: () => clock.now,
  })
  return { shared, clock }
}

describe('shareLook', () => {
  it('uses a result again for its time, and says how old it is', async () => {
    const { shared, clock } = setUp()
    expect(await shared()).toEqual({ value: 1, ageMs: 0 })
    clock.now = 999
    expect(await shared()).toEqual({ value: 1, ageMs: 999 })
    clock.now = 1_000
    expect(await shared()).toEqual({ value: 2, ageMs: 0 })
  })

  it('looks once for all that come at the same time', async () => {
    const { shared } = setUp()
    expect(await Promise.all([shared(), shared()])).toMatchObject([{ value: 1 }, { value: 1 }])
  })

  it('looks again after a failure', async () => {
    const { shared } = setUp((looks) => (looks === 1 ? Promise.reject(new Error('no answer')) : Promise.resolve(looks)))
    await expect(shared()).rejects.toThrow('no answer')
    expect(await shared()).toMatchObject({ value: 2 })
  })
})
