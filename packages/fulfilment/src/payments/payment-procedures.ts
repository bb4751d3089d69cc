import { z } from 'zod'
import { procedure } from '../trpc.ts'
import { applyEvents } from './apply-events.ts'
import type { ApplyResult } from './decide-order.ts'
import { eventTextSchema, paymentEventSchema } from './payment-event.ts'
import { readVersions } from './read-versions.ts'

const MAX_EVENTS = 500

/** `payments.applyEvents`: applies each event to its order at most once. Answers are in input order. */
export const applyEventsProcedure = procedure
  .input(z.object({ events: z.array(paymentEventSchema).min(1).max(MAX_EVENTS) }))
  .mutation(async ({ ctx, input }): Promise<{ results: ApplyResult[] }> => {
    const { payments, recording } = ctx.useCases
    const apply = recording?.calls(applyEvents) ?? applyEvents
    const results = await apply(payments, input.events)
    const counts: Record<string, number> = {}
    for (const result of results) {
      const name = 'outcome' in result ? result.outcome : result.refused
      ctx.useCases.countResult(name)
      counts[name] = (counts[name] ?? 0) + 1
    }
    ctx.answer.facts = { events: results.length, results: counts }
    return { results }
  })

/** `payments.versions`: the current version of each order, for use in `ifMatch`. */
export const versionsProcedure = procedure
  .input(z.strictObject({ orderIds: z.array(eventTextSchema).min(1).max(MAX_EVENTS) }))
  .query(({ ctx, input }) => readVersions(ctx.useCases.orders.orders, input.orderIds))
