import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'

/**
 * `answers`: how this process answered deliveries during the last hour, in spans of about 10 s, the oldest first. It is
 * in memory only: a process that has just started has nothing to show.
 */
export const answersProcedure = procedure.input(z.strictObject({}).optional()).query(({ ctx }) => ({
  points: ctx.answers.points.map(({ at, ...point }) => ({ at: new Date(at).toISOString(), ...point })),
}))
