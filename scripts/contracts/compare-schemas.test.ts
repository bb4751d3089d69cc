import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { compareSchemas } from './compare-schemas.ts'
import type { JsonSchema } from './json-schema.ts'

function jsonOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): JsonSchema {
  return z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonSchema
}

function breaksOf(direction: 'input' | 'output', before: z.ZodType, now: z.ZodType): string[] {
  const found = compareSchemas(direction, jsonOf(before, direction), jsonOf(now, direction))
  return found.map(({ path, problem }) => `${path}: ${problem}`)
}

const base = z.strictObject({ id: z.string(), kind: z.enum(['a', 'b']), note: z.string().optional() })

describe('compareSchemas', () => {
  it.each([
    ['input', base, base],
    ['output', base, base],
    ['input', base, base.extend({ more: z.string().optional() })],
    ['input', base, base.extend({ more: z.string().default('x') })],
    ['input', base, base.extend({ id: z.string().optional() })],
    ['input', base, base.extend({ kind: z.enum(['a', 'b', 'c']) })],
    ['input', base, base.extend({ id: z.union([z.string(), z.int()]) })],
    ['input', base, base.extend({ id: z.unknown() })],
    ['input', z.string().max(5), z.string().max(9)],
    ['input', z.int().min(2), z.number().min(1)],
    ['output', base, base.extend({ more: z.string() })],
    ['output', base, base.extend({ kind: z.enum(['a']) })],
    ['output', base, base.extend({ kind: z.literal('a') })],
    ['output', z.string().nullable(), z.string()],
    ['output', base, base.extend({ note: z.string() })],
    ['output', z.int().nullable(), z.int()],
    ['output', z.array(z.string()).max(9), z.array(z.string()).max(5)],
    ['output', z.string(), z.string().regex(/^a/)],
  ] as const)('allows a harmless change of an %s (%#)', (direction, before, now) => {
    expect(breaksOf(direction, before, now)).toEqual([])
  })

  it.each<readonly ['input' | 'output', z.ZodType, z.ZodType, string]>([
    ['input', base, base.omit({ note: true }), '$.note: removed member'],
    ['input', base, base.extend({ more: z.string() }), '$.more: new required member'],
    ['input', base, base.extend({ note: z.string() }), '$.note: new required member'],
    ['input', base, base.extend({ kind: z.enum(['a']) }), '$.kind: narrowed enum: no longer taken: "b"'],
    ['input', base, base.extend({ kind: z.literal('a') }), '$.kind: narrowed enum: no longer taken: "b"'],
    ['input', z.string(), z.enum(['a']), '$: any value where "a" are taken now'],
    ['input', base, base.extend({ id: z.int() }), '$.id: an input of type string is no longer taken'],
    ['input', z.unknown(), z.string(), '$: an input of type any is no longer taken'],
    ['input', z.int().nullable(), z.int(), '$: an input of type null is no longer taken'],
    ['input', z.number(), z.int(), '$: an input of type number is no longer taken'],
    ['input', z.string(), z.string().regex(/^a/), '$: the pattern ^a is required now'],
    ['input', z.string(), z.string().max(5), '$: maxLength 5 is required now'],
    ['input', z.string(), z.string().min(1), '$: minLength 1 is required now'],
    ['input', z.array(z.string()), z.array(z.string()).max(5), '$: maxItems 5 is required now'],
    ['input', z.array(base), z.array(base.omit({ id: true })), '$[].id: removed member'],
    [
      'input',
      z.record(z.string(), z.string()),
      z.record(z.string(), z.int()),
      '$.*: an input of type string is no longer taken',
    ],
    ['output', base, base.omit({ id: true }), '$.id: removed member'],
    ['output', base, base.omit({ note: true }), '$.note: removed member'],
    [
      'output',
      base,
      base.extend({ id: z.string().optional() }),
      '$.id: a member that was always there may be left out',
    ],
    ['output', base, base.extend({ kind: z.enum(['a', 'b', 'c']) }), '$.kind: widened enum: new to readers: "c"'],
    ['output', base, base.extend({ kind: z.string() }), '$.kind: any value where "a", "b" were given before'],
    ['output', z.int(), z.int().nullable(), '$: an output of type null is new to readers'],
    ['output', z.int(), z.string(), '$: an output of type string is new to readers'],
    ['output', z.string().regex(/^a/), z.string(), '$: the pattern ^a is promised no longer'],
    ['output', z.array(z.string()).max(5), z.array(z.string()).max(9), '$: maxItems 5 is promised no longer'],
  ])('names what a change of an %s breaks (%#)', (...[direction, before, now, found]) => {
    expect(breaksOf(direction, before, now)).toEqual([found])
  })

  it('compares an alternative with the one that is closest to it', () => {
    const before = z.union([z.strictObject({ outcome: z.string(), version: z.int() }), z.null()])
    const now = z.union([z.strictObject({ outcome: z.string(), revision: z.int() }), z.null()])
    expect(breaksOf('output', before, now)).toEqual(['$.version: removed member'])
  })

  it('says all that is broken at once', () => {
    const now = z.strictObject({ id: z.int(), kind: z.enum(['a']) })
    expect(breaksOf('input', base, now)).toHaveLength(3)
  })
})
