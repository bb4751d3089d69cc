import { invalidBody } from '@oncehook/kernel/http/error-codes'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFormBody, readForm } from './form-body.ts'

describe('isFormBody', () => {
  it.each([
    ['{}', false],
    [' \t\r\n{"a":1}', false],
    ['a=1', true],
    ['', true],
    ['[]', true],
    ['%7B%7D', true],
  ])('recognises %j by its bytes', (text, expected) => {
    expect(isFormBody(Buffer.from(text))).toBe(expected)
  })
})

describe('readForm', () => {
  it('reads what a form is written to, whatever it holds', () => {
    const field = fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed())
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(field, field), { selector: ([name]) => name, minLength: 1 }), (fields) => {
        const body = Buffer.from(new URLSearchParams(fields).toString())
        expect([...readForm(body)]).toEqual(fields)
      }),
    )
  })

  it('reads a field without an equals sign as empty', () => {
    expect(Object.fromEntries(readForm(Buffer.from('a&b=1=2')))).toEqual({ a: '', b: '1=2' })
  })

  it.each([
    ['a field twice', Buffer.from('a=1&b=2&a=3')],
    ['a field twice, once escaped', Buffer.from('a=1&%61=2')],
    ['half an escape', Buffer.from('a=%4')],
    ['an escape that is none', Buffer.from('a=%zz')],
    ['escapes of bytes that are not UTF-8', Buffer.from('a=%ff')],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0x3d, 0xff])],
  ])('refuses %s', (_, body) => {
    expect(() => readForm(body)).toThrow(expect.objectContaining({ code: invalidBody.code }))
  })
})
