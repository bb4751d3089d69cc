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

const envelopeSchema = z.object({ result: z.object({ data: z.object({ results: z.unknown() }) }) })

/**
 * Reads an answer of tRPC. Null if it is not one result for each of `count` tasks. The results are counted before their form is
 * checked, and the first that is wrong ends the check: a list of wrong results may take seconds, in which nothing else runs.
 */
export function readTaskResults(text: string, count: number): readonly TaskResult[] | null {
  const listed = listIn(text)
  if (!Array.isArray(listed) || listed.length !== count) return null
  const results: TaskResult[] = []
  for (const item of listed) {
    const { data } = taskResultSchema.safeParse(item)
    if (data === undefined) return null
    results.push(data)
  }
  return results
}

function listIn(text: string): unknown {
  try {
    return envelopeSchema.safeParse(JSON.parse(text)).data?.result.data.results
  } catch {
    return undefined
  }
}
