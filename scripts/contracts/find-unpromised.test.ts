import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findUnpromised } from './find-unpromised.ts'
import type { JsonSchema } from './json-schema.ts'

const order = z.strictObject({
  id: z.string(),
  version: z.int(),
  status: z.enum(['pending', 'paid']),
  payment: z.strictObject({ id: z.string() }).nullable(),
  note: z.string().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  items: z.array(z.strictObject({ sku: z.string() })),
})
const recorded = {
  ...{ id: 'ord_1', version: 1, status: 'paid', payment: { id: 'pay_1' }, note: 'a', metadata: { colour: 'blue' } },
  items: [{ sku: 'a' }, { sku: 'b' }],
}

function unpromised(schema: z.ZodType, value: unknown = recorded): string[] {
  return findUnpromised(value, z.toJSONSchema(schema, { io: 'output' }) as JsonSchema).map(
    ({ path, problem }) => `${path}: ${problem}`,
  )
}

describe('findUnpromised', () => {
  it.each([
    ['the same schema', order],
    ['a schema with more members', order.extend({ more: z.string() })],
    ['a schema that lists more values', order.extend({ status: z.enum(['pending', 'paid', 'refunded']) })],
    ['a schema that says any number', order.extend({ version: z.number() })],
    ['a schema that says nothing', z.unknown()],
  ])('finds nothing in %s', (_, schema) => {
    expect(unpromised(schema)).toEqual([])
  })

  it.each([
    [order.omit({ note: true }), '$.note: removed member'],
    [order.extend({ version: z.string() }), '$.version: was of type integer, is string'],
    [order.extend({ status: z.enum(['pending']) }), '$.status: the value "paid" is gone'],
    [order.extend({ payment: z.null() }), '$.payment: was of type object, is null'],
    [order.extend({ payment: z.strictObject({ key: z.string() }).nullable() }), '$.payment.id: removed member'],
    [order.extend({ metadata: z.record(z.string(), z.int()) }), '$.metadata.colour: was of type string, is integer'],
    [order.extend({ items: z.array(z.strictObject({ code: z.string() })).max(9) }), '$.items[0].sku: removed member'],
  ])('names guarantees that are gone (%#)', (schema, found) => {
    expect(unpromised(schema)).toContain(found)
  })

  it('reports a null that is not allowed', () => {
    expect(unpromised(z.strictObject({ a: z.int() }), { a: null })).toEqual(['$.a: was of type null, is integer'])
  })
})
