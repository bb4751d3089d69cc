import { describe, expect, it } from 'vitest'
import { arrange } from './schedule.ts'

const random = () => 0

describe('arrange', () => {
  it('repeats the whole list, not each member', () => {
    expect(arrange(['a', 'b'], { times: 2, arrival: 'given', random })).toEqual(['a', 'b', 'a', 'b'])
  })

  it('lets the last arrive first', () => {
    expect(arrange(['a', 'b', 'c'], { times: 1, arrival: 'reversed', random })).toEqual(['c', 'b', 'a'])
  })

  it('shuffles by the given chance and loses nothing', () => {
    const chances = [0.99, 0, 0.5, 0]
    const shuffled = arrange(['a', 'b'], { times: 2, arrival: 'shuffled', random: () => chances.shift() ?? 0 })
    expect(shuffled).toEqual(['b', 'a', 'a', 'b'])
  })
})
