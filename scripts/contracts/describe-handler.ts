import { taskResultsSchema } from '@oncehook/gateway/handlers/batch-call'
import { z } from 'zod'
import type { DescribedProcedure, FulfilmentDescription, JsonSchema } from './describe-fulfilment.ts'

/**
 * One event of a batch, as the gateway writes it. A body that is not JSON is in `raw`, as base64. Later gateways may add
 * properties.
 */
export const taskSchema = z.object({
  key: z.string().min(1),
  attempt: z.int().min(1),
  provider: z.string().min(1),
  eventId: z.string().min(1),
  type: z.string(),
  objectId: z.string().min(1).optional(),
  orderId: z.string().min(1).optional(),
  occurredAt: z.string().optional(),
  receivedAt: z.iso.datetime(),
  pointer: z.string().min(1).optional(),
  body: z.unknown().optional(),
  raw: z.base64().optional(),
})

const batchSchema = z.object({ handler: z.string().min(1), events: z.array(taskSchema).min(1) })

/** Describes the procedure that the gateway calls at a handler, in the form of fulfilment's description. */
export function describeHandler(): FulfilmentDescription {
  const handle: DescribedProcedure = {
    kind: 'mutation',
    input: toSchema(batchSchema),
    output: toSchema(taskResultsSchema),
  }
  return { procedures: { 'events.handle': handle }, errors: {} }
}

/** In both directions, the reader ignores properties that it does not know: no schema forbids them. */
function toSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' })
  return json as JsonSchema
}
