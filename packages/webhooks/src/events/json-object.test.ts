import { invalidBody } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { describe, expect, it } from 'vitest'
import { readJsonObject } from './json-object.ts'

const event = JSON.stringify({ id: 'evt_1', type: 'payment.succeeded', data: { object: { id: 'pay_1' } } })

function refusalOf(body: string, maxDepth?: number): AppError | null {
  try {
    readJsonObject(Buffer.from(body), maxDepth)
    return null
  } catch (error) {
    return error as AppError
  }
}

describe('readJsonObject', () => {
  it.each([
    [512, undefined],
    [513, 513],
  ])('reads %i levels, and no more, if the caller permits %s', (most, permitted) => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    expect(refusalOf(nested(most), permitted)).toBeNull()
    expect(refusalOf(nested(most + 1), permitted)?.code).toBe(invalidBody.code)
  })

  it.each([
    ['an empty body', ''],
    ['no JSON', 'id=evt_1'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a member name twice', '{"id":"evt_1","id":"evt_2"}'],
    ['a byte-order mark', `\ufeff${event}`],
    ['UTF-16', Buffer.from(event, 'utf16le')],
    ['a broken UTF-8 sequence', Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
    [
      'an overlong UTF-8 sequence',
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
  ])('refuses %s', (_, body) => {
    expect(() => readJsonObject(Buffer.from(body as string))).toThrow(
      expect.objectContaining({ code: invalidBody.code, status: 400 }),
    )
  })

  it('names no part of the body in its refusal', () => {
    const error = refusalOf('{"id":"canary-in-the-body"')
    expect(`${error?.message} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toContain('canary')
  })
})
