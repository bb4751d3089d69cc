import { expect, it } from 'vitest'
import { createBodyMemory } from './receive-body.ts'

it('gives room until it is full, and again after a part is disposed of', () => {
  const memory = createBodyMemory(10)
  const [first, second] = [memory.open(), memory.open()]
  expect([first.grow(6), second.grow(5), second.grow(4), first.grow(1)]).toEqual([true, false, true, false])
  first[Symbol.dispose]()
  expect([second.grow(6), second.grow(1)]).toEqual([true, false])
})

it('gives a part that was disposed of no more room, and takes its room back once', () => {
  const memory = createBodyMemory(10)
  const part = memory.open()
  part.grow(10)
  part[Symbol.dispose]()
  part[Symbol.dispose]()
  expect(part.grow(1)).toBe(false)
  expect([memory.open().grow(10), memory.open().grow(1)]).toEqual([true, false])
})
