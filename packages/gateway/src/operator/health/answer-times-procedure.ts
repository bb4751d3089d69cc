import { z } from 'zod'
import { procedure } from '../operator-trpc.ts'
import { type AnswerTimes, readAnswerTimes } from './read-answer-times.ts'

const MOST = 0.99

/**
 * `answerTimes`: how many deliveries this gateway has answered with 200 since its start, and within how many seconds 99 %
 * of them. With `WORKERS` it is about all of them.
 */
export const answerTimesProcedure = procedure
  .input(z.strictObject({}).optional())
  .query(async ({ ctx }): Promise<AnswerTimes> => readAnswerTimes(await ctx.shownMetrics.metrics(), MOST))
