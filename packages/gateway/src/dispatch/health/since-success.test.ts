import { describe, expect, it } from 'vitest'
import { SinceSuccess } from './since-success.ts'

/** Sends one event and lets fulfilment die at it. */
function dieAt(since: SinceSuccess, id: string): void {
  since.diedAlone(id, since.sending)
  if (!since.isOutage) since.count(id, 'alone')
}

describe('SinceSuccess', () => {
  it('does not count deaths at one event as an outage, however many', () => {
    const since = new SinceSuccess()
    for (let times = 0; times < 9; times += 1) dieAt(since, 'a')
    expect(since.isOutage).toBe(false)
  })

  it('counts a death at another event as an outage, until a call succeeds', () => {
    const since = new SinceSuccess()
    for (const id of ['a', 'b', 'b']) dieAt(since, id)
    expect(since.isOutage).toBe(true)
    since.succeeded()
    expect(since.isOutage).toBe(false)
    dieAt(since, 'b')
    expect(since.isOutage).toBe(false)
  })

  it('sees no outage in a call that was in progress when fulfilment died', () => {
    const since = new SinceSuccess()
    const { sending } = since
    dieAt(since, 'a')
    since.diedAlone('b', sending)
    expect(since.isOutage).toBe(false)
  })

  it('sees none in a call that was sent before the last success', () => {
    const since = new SinceSuccess()
    dieAt(since, 'a')
    const { sending } = since
    since.succeeded()
    since.diedAlone('b', sending)
    expect(since.isOutage).toBe(false)
  })

  it('reverts its counts once, except those that a success confirmed', () => {
    const since = new SinceSuccess()
    since.count('a', 'together')
    since.count('a', 'alone')
    expect(since.together('a')).toBe(1)
    expect([since.takeBack('a'), since.takeBack('a')]).toEqual([2, 0])
    since.count('a', 'alone')
    since.succeeded()
    expect(since.takeBack('a')).toBe(0)
  })
})
