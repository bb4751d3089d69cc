import * as errors from '@oncehook/fulfilment/errors'
import { orderContentSchema, SERVER_MEMBERS } from '@oncehook/fulfilment/orders/order'
import { fulfilmentRouter } from '@oncehook/fulfilment/router'
import * as sharedErrors from '@oncehook/kernel/http/error-codes'
import type { ErrorFactory } from '@oncehook/kernel/http/errors'
import { z } from 'zod'
import { type ProcedureName, procedureOutputs } from './procedure-outputs.ts'

/** The JSON Schema of an input or an output. */
export type JsonSchema = z.core.JSONSchema.BaseSchema

/** A procedure as its callers know it. */
export interface DescribedProcedure {
  readonly kind: string
  readonly input: JsonSchema
  readonly output: JsonSchema
}

/** Everything that callers of fulfilment may rely on: its procedures, and the meaning of its error codes. */
export interface FulfilmentDescription {
  readonly procedures: Readonly<Record<string, DescribedProcedure>>
  readonly errors: Readonly<Record<string, { readonly status: number; readonly retry: string }>>
}

/** A procedure of a router. */
export interface Procedure {
  readonly _def: { readonly type: string; readonly inputs: readonly z.ZodType[] }
}

const procedures = Object.entries(fulfilmentRouter._def.procedures as unknown as Record<string, Procedure>)

/** Describes fulfilment as it is now. */
export function describeFulfilment(): FulfilmentDescription {
  return {
    procedures: Object.fromEntries(procedures.map(([name, procedure]) => [name, describeProcedure(name, procedure)])),
    errors: describeErrors(errors, sharedErrors),
  }
}

function describeProcedure(name: string, { _def: { type, inputs } }: Procedure): DescribedProcedure {
  const input = toSchema(inputs[0] ?? z.unknown(), 'input')
  const output = toSchema(procedureOutputs[name as ProcedureName], 'output')
  return { kind: type, input: takesOrder(name) ? withOrder(input) : input, output }
}

/** The JSON Schema of what is sent, or of what is answered. */
export function toSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      delete jsonSchema.description
      // Readers accept any currency, because the list grows with ISO 4217.
      if (io === 'output' && zodSchema === orderContentSchema.shape.currency) delete jsonSchema.enum
    },
  })
  return json as JsonSchema
}

/** Whether a procedure validates the order itself, after the conditions and the keys. */
function takesOrder(name: string): boolean {
  return name === 'orders.create' || name === 'orders.put'
}

function withOrder(input: JsonSchema): JsonSchema {
  const order = toSchema(orderContentSchema, 'input')
  const passedOver = Object.fromEntries(SERVER_MEMBERS.map((member) => [member, {}]))
  const properties = { ...input.properties, order: { ...order, properties: { ...order.properties, ...passedOver } } }
  return { ...input, properties }
}

/** The error codes in some modules. */
export function describeErrors(...modules: readonly object[]): FulfilmentDescription['errors'] {
  const known = modules.flatMap((module) => Object.values(module)).filter((one): one is ErrorFactory => 'status' in one)
  const sorted = known.toSorted((a, b) => (a.code < b.code ? -1 : 1))
  return Object.fromEntries(sorted.map(({ code, status, retry }) => [code, { status, retry }]))
}
