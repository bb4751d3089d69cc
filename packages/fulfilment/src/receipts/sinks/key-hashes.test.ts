import { expect, it } from 'vitest'
import { KeyHashes } from './key-hashes.ts'

const MOST = 2_000_000

it('has each key that was added, and hardly any other, up to its limit', () => {
  const hashes = new KeyHashes()
  for (let index = 0; index < MOST; index += 1) {
    if (!hashes.add(`rcpt_${index}`)) throw new Error(`The key ${index} was not added`)
  }
  const keys = Array.from({ length: 1_000 }, (_, index) => index * (MOST / 1_000))
  expect(keys.filter((index) => !hashes.has(`rcpt_${index}`))).toEqual([])
  expect(keys.filter((index) => hashes.has(`rcpt_${MOST + index}`))).toEqual([])
  expect(hashes.add('rcpt_0')).toBe(true)
  expect(hashes.add('one more')).toBe(false)
  expect(hashes.has('one more')).toBe(false)
})
