import { describe, expect, it } from 'vitest'
import { checkRelease, type Release } from './check-release.ts'
import type { FulfilmentDescription } from './describe-fulfilment.ts'
import type { JsonSchema } from './json-schema.ts'

const input: JsonSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
const output: JsonSchema = { type: 'object', properties: { version: { type: 'integer' } }, required: ['version'] }
const description: FulfilmentDescription = {
  procedures: {
    'orders.get': { kind: 'query', input, output },
    'orders.list': { kind: 'query', input: {}, output: {} },
  },
  errors: { order_not_found: { status: 404, retry: 'never' } },
}
const asks = { procedure: 'orders.get', kind: 'query', input: { id: 'ord_1' } } as const
const refusal = { reason: 'order_not_found', httpStatus: 404, retry: 'never' }
const release: Release = {
  version: '0.1.0',
  description,
  consumers: [
    {
      consumer: 'gateway',
      calls: [
        { ...asks, does: 'reads an order', status: 200, data: { version: 1 } },
        { ...asks, does: 'reads a missing order', status: 404, refusal },
      ],
    },
  ],
}

function check(now: FulfilmentDescription, problem: string | null = null): string[] {
  return checkRelease(release, { description: now, inputProblem: () => problem })
}

function withProcedure(changed: object): FulfilmentDescription {
  const { 'orders.get': get, ...others } = description.procedures
  return {
    ...description,
    procedures: { ...others, 'orders.get': { kind: 'query', input, output, ...get, ...changed } },
  }
}

const READER = 'the consumer gateway of 0.1.0, which reads an order: orders.get'

describe('checkRelease', () => {
  it('reports nothing for procedures that are unchanged or extended', () => {
    expect(check(description)).toEqual([])
    const more = { ...output, properties: { ...output.properties, more: { type: 'string' } } }
    expect(check(withProcedure({ output: more }))).toEqual([])
  })

  it('names the consumers of a procedure that was removed or has another kind', () => {
    const { 'orders.list': list = { kind: '', input: {}, output: {} } } = description.procedures
    expect(check({ ...description, procedures: { 'orders.list': list } })).toEqual([
      `${READER}, the procedure is gone`,
      'the consumer gateway of 0.1.0, which reads a missing order: orders.get, the procedure is gone',
      'the consumer gateway of 0.1.0: orders.get, the procedure is gone',
    ])
    expect(check(withProcedure({ kind: 'mutation' }))[0]).toBe(`${READER}, the procedure was a query, is a mutation`)
  })

  it('says whose input is no longer taken; one that was refused may be refused', () => {
    expect(check(description, '$.id: too short')).toEqual([`${READER}, the input is no longer taken: $.id: too short`])
  })

  it('names the procedure whose answer lost a property', () => {
    const renamed = { type: 'object', properties: { revision: { type: 'integer' } }, additionalProperties: false }
    expect(check(withProcedure({ output: renamed }))).toEqual([
      `${READER}, output $.version: removed member`,
      'the consumer gateway of 0.1.0: orders.get, output $.version: removed member',
    ])
  })

  it('names the procedure whose refusal changed', () => {
    const errors = { order_not_found: { status: 410, retry: 'later' } }
    expect(check({ ...description, errors })).toContain(
      'the consumer gateway of 0.1.0, which reads a missing order: orders.get, the code order_not_found was status 404, is 410',
    )
    expect(check({ ...description, errors: {} })).toContain('any caller of 0.1.0: the code order_not_found is gone')
  })

  it('reports broken promises of a procedure that no known consumer calls', () => {
    const { 'orders.get': get = { kind: '', input: {}, output: {} } } = description.procedures
    expect(check({ ...description, procedures: { 'orders.get': get } })).toEqual([
      'any caller of 0.1.0: orders.list, the procedure is gone',
    ])
  })
})
