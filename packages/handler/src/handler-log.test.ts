import { describe, expect, it, vi } from 'vitest'
import { createGuardedLog, describeError } from './handler-log.ts'

describe('describeError', () => {
  it('has the names and messages of an error and its causes, without control characters', () => {
    const error = new Error('No order\0\n  of this id', { cause: new TypeError('x is undefined') })
    expect(describeError(error)).toBe('Error: No order of this id (TypeError: x is undefined)')
  })

  it.each([
    ['a message that is an object', Object.assign(new Error('x'), { message: { code: 1 } }), 'Error: '],
    ['no message', Object.assign(new Error('x'), { message: undefined, code: 'ECONNRESET' }), 'Error: ECONNRESET'],
    ['a name that is a symbol', Object.assign(new Error('x'), { name: Symbol('n') }), ': x'],
    ['a code that is a symbol', Object.assign(new Error(''), { code: Symbol('n') }), 'Error:'],
    ['a message that cannot be read', unreadable(), 'It threw an error that cannot be read'],
    ['a proxy that refuses everything', refusing(), 'It threw an error that cannot be read'],
    ['null', null, 'It threw something that is not an error'],
  ])('reads %s', (_, error, text) => {
    expect(describeError(error)).toBe(text.trim())
  })

  it('cuts a long text first: one with a million spaces keeps no event waiting', () => {
    const described = describeError(new Error(`No customer ${' '.repeat(1_000_000)}x`, { cause: new Error('late') }))
    expect(described).toBe('Error: No customer (Error: late)')
  })
})

it.each([
  ['throws', () => unwritten()],
  ['rejects', () => Promise.reject(new Error('The disk is full'))],
])('a guarded log drops a line if the log %s', async (_, write) => {
  const log = vi.fn(write)
  createGuardedLog(log)({ level: 'warn', message: 'A message failed' })
  await new Promise((resolve) => setImmediate(resolve))
  expect(log).toHaveBeenCalledTimes(1)
})

function unwritten(): never {
  throw new Error('The disk is full')
}

function unreadable(): Error {
  return Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('inner')
    },
  })
}

function refusing(): object {
  const refuse = () => {
    throw new Error('refused')
  }
  return new Proxy(new Error('x'), { get: refuse, getPrototypeOf: refuse, has: refuse })
}
