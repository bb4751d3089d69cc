import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'

/**
 * `answers`: the answers of this process to deliveries during the last hour, in spans of about 10 s, oldest first. They
 * are in memory only: a process that has just started has none.
 */
export const answersProcedure = procedure.input(z.strictObject({}).optional()).query(({ ctx }) => ({
  points: ctx.answers.points.map(({ at, ...point }) => ({ at: new Date(at).toISOString(), ...point })),
}))
