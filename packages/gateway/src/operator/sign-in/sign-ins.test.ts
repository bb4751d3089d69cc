import { Secret } from '@oncehook/kernel/secrets/secret'
import { describe, expect, it } from 'vitest'
import { createTurns, openToken, sealToken } from './sign-ins.ts'

const KEY = { secret: 'a random text', purpose: 'code' } as const
const token = new Secret('the-token-of-alice')
const sealed = sealToken(token, KEY)

describe('a sealed token', () => {
  it('is opened by its text and its purpose together', () => {
    expect(openToken(sealed, KEY)?.reveal()).toBe(token.reveal())
    expect(openToken(sealed, { ...KEY, purpose: 'session' })).toBeNull()
    expect(openToken(sealed, { ...KEY, secret: 'another text' })).toBeNull()
  })

  it('is not opened if any byte of it has changed, or is missing', () => {
    for (const index of sealed.keys()) {
      const changed = Buffer.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(openToken(changed, KEY)).toBeNull()
      expect(openToken(sealed.subarray(0, index), KEY)).toBeNull()
    }
  })

  it('does not show the token, and looks different each time', () => {
    expect(sealed.toString('latin1')).not.toContain(token.reveal())
    expect(sealToken(token, KEY).equals(sealed)).toBe(false)
  })
})

it('codes are looked up a few at a time, in the order of their arrival, and a failure makes room', async () => {
  const takeTurn = createTurns(2)
  const begun: number[] = []
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  const tasks = gates.map(({ promise }, task) =>
    takeTurn(() => {
      begun.push(task)
      return promise
    }),
  )
  const settled = Promise.allSettled(tasks)
  expect(begun).toEqual([0, 1])
  gates[1]?.reject(new Error('the database is away'))
  await expect.poll(() => begun).toEqual([0, 1, 2])
  for (const gate of gates) gate.resolve()
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(begun).toEqual([0, 1, 2, 3])
})
