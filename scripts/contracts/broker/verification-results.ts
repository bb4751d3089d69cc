import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const lineSchema = z.object({ consumer: z.string(), provider: z.string(), success: z.boolean() })

/** Whether a provider keeps what a consumer counts on. */
export type VerificationResult = z.output<typeof lineSchema>

/**
 * Reads the results that contract tests wrote, one JSON object in each line. A pact that was verified several times, such
 * as on two databases, is kept only if it was kept each time. A missing file has no results.
 * @throws if a line is not a result
 */
export function readResults(file: string): VerificationResult[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const results = lines.filter((line) => line !== '').map((line) => lineSchema.parse(JSON.parse(line)))
  const byPact = Map.groupBy(results, ({ consumer, provider }) => JSON.stringify([consumer, provider]))
  return Array.from(byPact.values(), (all) => ({
    ...(all[0] as VerificationResult),
    success: all.every(({ success }) => success),
  }))
}
