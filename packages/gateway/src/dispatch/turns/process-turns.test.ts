import { describe, expect, it } from 'vitest'
import { createProcessTurns } from './process-turns.ts'

function setUp() {
  const clock = { now: 0 }
  const newTurn = createProcessTurns(() => clock.now)
  return { clock, one: newTurn(), other: newTurn() }
}

describe('the turns of the dispatchers of a process', () => {
  it('say what the others have in progress, and not what one has itself', () => {
    const { one, other } = setUp()
    one.began('new')
    one.began('alone')
    expect([one.others, other.others]).toEqual(['nothing', 'batches'])
    one.ended('new')
    expect(other.others).toBe('batches')
    one.ended('alone')
    expect(other.others).toBe('nothing')
  })

  it('let nothing begin while an exclusive batch is in progress elsewhere', () => {
    const { one, other } = setUp()
    one.began('exclusive')
    expect([one.others, other.others]).toEqual(['nothing', 'exclusive'])
    one.ended('exclusive')
    expect(other.others).toBe('nothing')
  })

  it('let nothing begin while an exclusive batch waits, so that its turn comes', () => {
    const { one, other } = setUp()
    other.began('new')
    one.want()
    expect([one.others, other.others]).toEqual(['batches', 'exclusive'])
    other.ended('new')
    expect([one.others, other.others]).toEqual(['nothing', 'exclusive'])
    one.began('exclusive')
    one.ended('exclusive')
    expect(other.others).toBe('nothing')
  })

  it('forget one that waits no more, as after a pause of its handler', () => {
    const { clock, one, other } = setUp()
    one.want()
    clock.now = 600
    one.want()
    clock.now = 1_500
    other.want()
    expect([one.others, other.others], 'the first one still waits').toEqual(['nothing', 'exclusive'])
    clock.now = 1_600
    expect(other.others).toBe('nothing')
  })

  it('wake those that wait when a batch ends, once', () => {
    const { one, other } = setUp()
    let woken = 0
    one.wake(() => {
      woken += 1
    })
    other.began('new')
    other.ended('new')
    other.began('new')
    other.ended('new')
    expect(woken).toBe(1)
  })
})
