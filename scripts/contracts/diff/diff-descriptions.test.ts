import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FulfilmentDescription } from '../describe-fulfilment.ts'
import type { JsonSchema } from '../json-schema.ts'
import { diffDescriptions } from './diff-descriptions.ts'
import { sayBriefly, sayInFull } from './say-changes.ts'

const input = z.strictObject({ id: z.string(), limit: z.int().max(9).optional() })
const output = z.strictObject({ version: z.int(), kind: z.enum(['a', 'b']), note: z.string().optional() })

function jsonOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, { io }) as JsonSchema
}

/** One procedure with these schemas, and one error code. */
function described(changed: { readonly input?: z.ZodType; readonly output?: z.ZodType }): FulfilmentDescription {
  const get = { input, output, ...changed }
  return {
    procedures: {
      'orders.get': { kind: 'query', input: jsonOf(get.input, 'input'), output: jsonOf(get.output, 'output') },
    },
    errors: { order_not_found: { status: 404, retry: 'never' } },
  }
}

const before = described({})

function linesOf(now: FulfilmentDescription): string[] {
  return sayInFull('1.0.0', [{ provider: 'fulfilment', changes: diffDescriptions(before, now) }]).slice(1)
}

describe('the changes since a release', () => {
  it.each<readonly [string, Parameters<typeof described>[0], readonly string[]]>([
    ['nothing', {}, []],
    [
      'a new optional property of an input',
      { input: input.extend({ by: z.string().optional() }) },
      ['added: fulfilment orders.get, input $.by'],
    ],
    [
      'a new required property of an input',
      { input: input.extend({ by: z.string() }) },
      ['added, breaks callers: fulfilment orders.get, input $.by: new required member'],
    ],
    [
      'a narrower input',
      { input: input.extend({ limit: z.int().max(5).optional() }) },
      ['changed, breaks callers: fulfilment orders.get, input $.limit: maximum 5 is required now'],
    ],
    [
      'a wider input',
      { input: input.extend({ limit: z.int().max(12).optional() }) },
      ['changed: fulfilment orders.get, input $.limit: maximum was 9, is 12'],
    ],
    [
      'a required property that became optional in an input',
      { input: input.extend({ id: z.string().optional() }) },
      ['changed: fulfilment orders.get, input $.id: required was true, is false'],
    ],
    [
      'a new property of an answer',
      { output: output.extend({ more: z.string() }) },
      ['added: fulfilment orders.get, output $.more'],
    ],
    [
      'a new object of an answer, once',
      { output: output.extend({ more: z.strictObject({ one: z.array(z.strictObject({ two: z.string() })) }) }) },
      ['added: fulfilment orders.get, output $.more'],
    ],
    [
      'a property that an answer lost',
      { output: output.omit({ note: true }) },
      ['removed, breaks callers: fulfilment orders.get, output $.note: removed member'],
    ],
    [
      'a wider answer',
      { output: output.extend({ kind: z.enum(['a', 'b', 'c']) }) },
      ['changed, breaks callers: fulfilment orders.get, output $.kind: widened enum: new to readers: "c"'],
    ],
    [
      'a narrower answer',
      { output: output.extend({ kind: z.enum(['a']) }) },
      ['changed: fulfilment orders.get, output $.kind: enum was ["a","b"], is ["a"]'],
    ],
    [
      'an answer that may be null',
      { output: output.extend({ version: z.int().nullable() }) },
      ['changed, breaks callers: fulfilment orders.get, output $.version: an output of type null is new to readers'],
    ],
  ])('name %s', (_, changed, lines) => {
    expect(linesOf(described(changed))).toEqual(lines.map((line) => `  ${line}`))
  })

  it('name procedures and codes that came, went or mean something else', () => {
    const { 'orders.get': get } = before.procedures
    if (get === undefined) throw new Error('not described')
    const found = (now: Partial<FulfilmentDescription>) => linesOf({ ...before, ...now }).map((line) => line.trim())
    expect(found({ procedures: { ...before.procedures, 'orders.list': get } })).toEqual([
      'added: fulfilment orders.list',
    ])
    expect(found({ procedures: {} })).toEqual(['removed, breaks callers: fulfilment orders.get: the procedure is gone'])
    expect(found({ procedures: { 'orders.get': { ...get, kind: 'mutation' } } })).toEqual([
      'changed, breaks callers: fulfilment orders.get: it was a query, is a mutation',
    ])
    expect(found({ errors: {} })).toEqual(['removed, breaks callers: fulfilment the code order_not_found: is gone'])
    expect(found({ errors: { order_not_found: { status: 410, retry: 'never' } } })).toEqual([
      'changed, breaks callers: fulfilment the code order_not_found: was status 404, is 410',
    ])
    const more = { ...before.errors, order_locked: { status: 409, retry: 'later' } }
    expect(found({ errors: more })).toEqual(['added: fulfilment the code order_locked'])
  })

  it('are a few lines in CI: the counts, some names, and what breaks', () => {
    const many = Object.fromEntries(Array.from('abcdefgh', (letter) => [letter, z.string().optional()]))
    const now = described({ input: input.extend(many), output: output.omit({ note: true }) })
    const changes = diffDescriptions(before, now)
    expect(sayBriefly('1.0.0', [{ provider: 'fulfilment', changes }])).toEqual([
      'Procedures since 1.0.0: 8 added, 0 changed, 1 removed; 1 breaks callers',
      `  added: ${Array.from('abcdef', (letter) => `fulfilment orders.get, input $.${letter}`).join('; ')}; and 2 more`,
      '  removed: fulfilment orders.get, output $.note',
      '  breaks callers: fulfilment orders.get, output $.note: removed member',
    ])
    const whole = { kind: 'added', what: 'orders.list', breaks: [] } as const
    const [, added] = sayBriefly('1.0.0', [{ provider: 'fulfilment', changes: [...changes, whole] }])
    expect(added).toMatch(/^ {2}added: fulfilment orders\.list; fulfilment orders\.get, /)
    expect(sayBriefly('1.0.0', [{ provider: 'fulfilment', changes: [] }])).toEqual([
      'Procedures since 1.0.0: 0 added, 0 changed, 0 removed; none breaks callers',
    ])
  })
})
