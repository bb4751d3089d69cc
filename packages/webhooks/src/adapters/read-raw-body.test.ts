import { expect, it } from 'vitest'
import { readRawBody } from './read-raw-body.ts'

const MEBIBYTE = Buffer.alloc(1_048_576)

it('joins the pieces of a body', async () => {
  expect(await readRawBody([Buffer.from('a'), Buffer.from('bc')], 3)).toEqual(Buffer.from('abc'))
  expect(await readRawBody([], 3)).toEqual(Buffer.alloc(0))
})

it('reads a body over the limit to its end, and keeps nothing', async () => {
  let ended = false
  function* pieces(): Generator<Buffer> {
    yield Buffer.from('abc')
    yield Buffer.from('d')
    ended = true
  }
  expect(await readRawBody(pieces(), 3)).toBeNull()
  expect(ended).toBe(true)
})

it('stops at 8 MiB over the limit', async () => {
  let read = 0
  let closed = false
  function* endless(): Generator<Buffer> {
    try {
      for (;;) {
        read += 1
        yield MEBIBYTE
      }
    } finally {
      closed = true
    }
  }
  expect(await readRawBody(endless(), MEBIBYTE.length)).toBeNull()
  expect([read, closed]).toEqual([10, true])
})
