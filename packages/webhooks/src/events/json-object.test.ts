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
    ['blanks only', ' \n'],
    ['no JSON', 'id=evt_1'],
    ['half a JSON text', '{"id":"evt_1"'],
    ['two JSON texts', '{}{}'],
    ['a comment', '{/**/}'],
    ['a trailing comma', '{"id":"evt_1",}'],
    ['NaN', '{"id":NaN}'],
    ['an array', '[]'],
    ['an array of an event', `[${event}]`],
    ['a text', '"x"'],
    ['a number', '1'],
    ['null', 'null'],
    ['true', 'true'],
    ['a member name twice', '{"id":"evt_1","id":"evt_2"}'],
    ['a member name twice, once escaped', '{"id":"evt_1","\\u0069d":"evt_2"}'],
    ['a member name twice, deep inside', '{"data":{"object":{"id":"a","id":"b"}}}'],
    ['a byte-order mark', `\ufeff${event}`],
    ['UTF-16', Buffer.from(event, 'utf16le')],
    ['UTF-16 with a byte-order mark', Buffer.from(`\ufeff${event}`, 'utf16le')],
    ['a broken UTF-8 sequence', Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
    [
      'an overlong UTF-8 sequence',
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['a raw control character in a text', '{"id":"a\tb"}'],
    ['more levels than any payment has', `${'{"a":'.repeat(600)}1${'}'.repeat(600)}`],
    ['ten thousand open brackets', '['.repeat(10_000)],
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
