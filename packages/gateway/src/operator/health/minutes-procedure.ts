import { z } from 'zod'
import { MINUTE_MS, MINUTES, type MinuteDocument } from '../../inbox/statistics/minutes.ts'
import { procedure, SEARCH_MS } from '../operator-trpc.ts'
import { foldMinutes, type Minute } from './fold-minutes.ts'

/** The steps of each period: how many, and how many minutes one has. */
const PERIODS = { hour: [60, 1], day: [144, 10], week: [168, 60] } as const

/**
 * `minutes`: what all gateways counted in the last hour, day or week, from the minutes that they stored: the last step ends with the
 * minute that is over. `from` is the beginning of the first step.
 */
export const minutesProcedure = procedure
  .input(z.strictObject({ period: z.enum(['hour', 'day', 'week']) }))
  .query(async ({ ctx, input }) => {
    const [steps, each] = PERIODS[input.period]
    const stepMs = each * MINUTE_MS
    // Whole steps, so that the picture moves by one at a time.
    const end = Math.ceil(Math.floor(ctx.clock.now() / MINUTE_MS) / each) * stepMs
    const from = end - steps * stepMs
    const minutes = await ctx.db
      .collection<MinuteDocument>(MINUTES)
      .find({ _id: { $gte: new Date(from), $lt: new Date(end) } }, { maxTimeMS: SEARCH_MS, batchSize: MOST_AT_ONCE })
      .project<Minute>({ expireAt: 0 })
      .toArray()
    return {
      from: new Date(from).toISOString(),
      stepSeconds: stepMs / 1_000,
      ...(await foldMinutes(minutes, { from, stepMs, steps })),
    }
  })

// A week in one answer would hold up the deliveries of this process while it is read.
const MOST_AT_ONCE = 500
