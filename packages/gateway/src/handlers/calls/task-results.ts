import { z } from 'zod'

const taskResultSchema = z.union([
  z.object({ done: z.literal(true) }),
  z.object({
    refused: z.string().regex(/^[\w.:-]{1,64}$/),
    retry: z.enum(['now', 'later', 'never']),
    // A handler from before these properties may have others of these names: they must not make its answer invalid.
    message: z.string().optional().catch(undefined),
    retryAfter: z.int().min(0).optional().catch(undefined),
  }),
])

/** What `events.handle` of a handler answers: one result for each event, in their order. Other properties are ignored. */
export const taskResultsSchema = z.object({ results: z.array(taskResultSchema) })

/** What a handler says about one event. */
export type TaskResult = z.output<typeof taskResultSchema>
