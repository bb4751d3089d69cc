import { expect, it } from 'vitest'
import { checkRelease } from '../../scripts/contracts/check-release.ts'
import { describeFulfilment, inputProblem } from '../../scripts/contracts/describe-fulfilment.ts'
import { lastRelease, readRelease } from '../../scripts/contracts/release-files.ts'
import { CONTRACTS } from './pact-files.ts'

it('fulfilment takes and gives what callers of the last release count on', async (context) => {
  const version = await lastRelease(CONTRACTS)
  if (version === undefined) return context.skip('no release is recorded yet')
  const release = await readRelease(CONTRACTS, version)
  expect(release.consumers.flatMap(({ calls }) => calls).length).toBeGreaterThan(0)
  const problems = checkRelease(release, { description: describeFulfilment(), inputProblem })
  if (problems.length > 0) throw new Error(`Callers of ${version} break:\n- ${problems.join('\n- ')}`)
})
