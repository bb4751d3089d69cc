import { badRequest, unsupportedMediaType } from '@oncehook/kernel/http/error-codes'
import { describe, expect, it } from 'vitest'
import { isJsonInUtf8, mediaTypeOf, refuseMediaType } from './media-type.ts'

function refusalOf(...types: string[]): unknown {
  try {
    refuseMediaType(
      types.flatMap((type) => ['Content-Type', type]),
      false,
    )
    return null
  } catch (error) {
    return error
  }
}

describe('refuseMediaType', () => {
  it('accepts JSON, and bodies without a type', () => {
    expect(refusalOf()).toBeNull()
    expect(refusalOf('application/json')).toBeNull()
    expect(refusalOf('application/json; charset=utf-8')).toBeNull()
  })

  it('refuses other types and says which are accepted', () => {
    for (const type of ['text/plain', '', 'application/x-www-form-urlencoded']) {
      expect(refusalOf(type)).toMatchObject({
        ...{ code: unsupportedMediaType.code, status: 415, headers: { Accept: 'application/json' } },
      })
    }
  })

  it.each([
    ['application/json', 'application/json'],
    ['application/json', 'text/plain'],
    ['text/plain', 'application/json'],
  ])('refuses two lines, %s and %s', (one, two) => {
    expect(refusalOf(one, two)).toMatchObject({ code: badRequest.code, status: 400 })
  })

  it('accepts a form only from a provider that sends forms', () => {
    const form = ['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8']
    expect(() => refuseMediaType(form, true)).not.toThrow()
    expect(() => refuseMediaType(form, false)).toThrow(expect.objectContaining({ status: 415 }))
  })
})

describe('mediaTypeOf', () => {
  it.each([
    ['application/json', 'application/json'],
    ['Application/JSON ; charset=utf-8', 'application/json'],
    ['application/merge-patch+json', 'application/merge-patch+json'],
    ['', ''],
  ])('reads %j as %j', (value, type) => {
    expect(mediaTypeOf(value)).toBe(type)
  })
})

describe('isJsonInUtf8', () => {
  it.each([
    [true, 'application/json'],
    [true, 'APPLICATION/JSON'],
    [true, 'application/json ; charset="UTF-8"'],
    [true, 'application/json; profile="x"'],
    [true, 'application/vnd.acme+json'],
    [false, ''],
    [false, 'json'],
    [false, 'text/json'],
    [false, 'application/jsonp'],
    [false, 'application/+json'],
    [false, 'application/json+xml'],
    [false, 'application/json, text/plain'],
    [false, 'application/json; charset=utf-16'],
    [false, 'application/problem+json-seq'],
  ])('says %s to %j', (isJson, type) => {
    expect(isJsonInUtf8(type)).toBe(isJson)
  })
})
