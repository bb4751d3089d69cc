import { appendFile } from 'node:fs/promises'
import { join, matchesGlob } from 'node:path'
import type { VerificationResult } from '../../scripts/contracts/broker/verification-results.ts'
import { CONTRACTS } from './pact-files.ts'

/**
 * Adds the result of a verification to the file that `VERIFICATION_RESULTS` names, if that is set. Only results of the
 * current contracts count: those of releases and of made-up pacts are left out.
 */
export async function recordResult(contract: string, result: VerificationResult): Promise<void> {
  const file = process.env.VERIFICATION_RESULTS
  if (!file || !matchesGlob(contract, join(CONTRACTS, '{*,messages/*}.json'))) return
  await appendFile(file, `${JSON.stringify(result)}\n`)
}
