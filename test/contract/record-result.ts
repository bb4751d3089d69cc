import { appendFile } from 'node:fs/promises'
import { join, matchesGlob } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { TestResult, VerificationResult } from '../../scripts/contracts/broker/verification-results.ts'
import { CONTRACTS } from './pact-files.ts'

/**
 * Adds the result of a verification to the file that `VERIFICATION_RESULTS` names, if that is set, when the test has ended:
 * it may fail for something else that it looks at. Only results of the current contracts count: those of releases and of
 * made-up pacts are left out.
 */
export function recordResult(contract: string, result: VerificationResult): void {
  const file = process.env.VERIFICATION_RESULTS
  if (!file || !matchesGlob(contract, join(CONTRACTS, '{*,messages/*}.json'))) return
  const { testPath = '', currentTestName = '' } = expect.getState()
  onTestFinished(async ({ task }) => {
    const success = result.success && task.result?.state !== 'fail'
    const line: TestResult = { ...result, success, test: `${currentTestName} (${testPath})` }
    await appendFile(file, `${JSON.stringify(line)}\n`)
  })
}
