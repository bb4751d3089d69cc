import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const lineSchema = z.object({ consumer: z.string(), provider: z.string(), success: z.boolean(), test: z.string() })

/** Whether a provider keeps what a consumer counts on. */
export interface VerificationResult {
  readonly consumer: string
  readonly provider: string
  readonly success: boolean
}

/** The result of one test. */
export interface TestResult extends VerificationResult {
  /** Its name and file. If it runs again, its last result counts. */
  readonly test: string
}

/**
 * Reads the results that contract tests wrote, one JSON object in each line. A pact that several tests verify, such as on
 * two databases, is kept only if it was kept in each of them. A missing file has no results.
 * @throws if a line is not a result
 */
export function readResults(file: string): VerificationResult[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const results = lines.filter((line) => line !== '').map((line): TestResult => lineSchema.parse(JSON.parse(line)))
  const last = new Map(results.map((result) => [keyOf(result, result.test), result]))
  const byPact = Map.groupBy(last.values(), (result) => keyOf(result))
  return Array.from(byPact.values(), (all) => {
    const [{ consumer, provider }] = all as [TestResult]
    return { consumer, provider, success: all.every(({ success }) => success) }
  })
}

function keyOf({ consumer, provider }: VerificationResult, ...more: readonly string[]): string {
  return JSON.stringify([consumer, provider, ...more])
}
