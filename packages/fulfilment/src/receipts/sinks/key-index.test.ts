import type { Stats } from 'node:fs'
import { expect, it } from 'vitest'
import { KeyIndex, type ReadableFile } from './key-index.ts'

const LINES = 100_001

const keysFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `rcpt_${first + index}`)
const linesOf = (keys: readonly string[]): Buffer => Buffer.from(keys.map((key) => `{"key":"${key}"}\n`).join(''))

/** A file in memory, which counts the bytes that are read. */
function countingFile(keys: readonly string[]) {
  const state = { bytes: linesOf(keys), read: 0 }
  const file = {
    stat: async () => ({ size: state.bytes.length }) as Stats,
    async read(...[buffer, offset, length, position]: [Buffer, number, number, number]) {
      const bytesRead = state.bytes.copy(buffer, offset, position, position + length)
      state.read += bytesRead
      return { bytesRead, buffer }
    },
  } as unknown as ReadableFile
  const append = (appended: readonly string[]) => {
    const bytes = linesOf(appended)
    state.bytes = Buffer.concat([state.bytes, bytes])
    return { bytes: bytes.length, size: state.bytes.length }
  }
  return { state, file, append }
}

it('reads a file with more keys than it remembers once, however many keys are not in it', async () => {
  const { state, file } = countingFile(keysFrom(0, LINES))
  const index = await KeyIndex.atEndOf(file)
  state.read = 0
  for (const first of [0, 200, 400]) {
    expect(await index.find(keysFrom(LINES + first, 200))).toEqual(new Set())
  }
  expect(state.read).toBe(state.bytes.length)
})

it('still finds a key that it does not remember', async () => {
  const { file } = countingFile(keysFrom(0, LINES))
  const index = await KeyIndex.atEndOf(file)
  expect(await index.find(['rcpt_none'])).toEqual(new Set())
  expect(await index.find(['rcpt_0', 'rcpt_1', 'rcpt_none', 'rcpt_other'])).toEqual(new Set(['rcpt_0', 'rcpt_1']))
})

it('finds a key that was not in the file, was appended, and is not remembered any more', async () => {
  const { file, append } = countingFile(keysFrom(0, LINES))
  const index = await KeyIndex.atEndOf(file)
  expect(await index.find(['rcpt_new'])).toEqual(new Set())
  expect(index.noteAppended(['rcpt_new'], append(['rcpt_new']))).toBe(true)
  append(keysFrom(LINES, LINES))
  await index.catchUp()
  expect(index.has('rcpt_new')).toBe(false)
  expect(await index.find(['rcpt_new'])).toEqual(new Set(['rcpt_new']))
})
