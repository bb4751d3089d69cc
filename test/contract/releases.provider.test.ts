import { describe, expect, it } from 'vitest'
import { VERIFIED_PROVIDERS } from '../../scripts/contracts/broker/published-pacts.ts'
import { checkRelease } from '../../scripts/contracts/check-release.ts'
import { describeFulfilment, inputProblem } from '../../scripts/contracts/describe-fulfilment.ts'
import { contractNames, readRelease, releaseNames } from '../../scripts/contracts/release-files.ts'
import { CONTRACTS, contractsOf } from './pact-files.ts'
import { tokenFiles } from './recorded-tokens.ts'
import { messageContractsOf } from './verify-messages.ts'

const releases = await releaseNames(CONTRACTS)

describe('fulfilment', () => {
  it.each(releases)('takes and gives what callers of %s count on', async (version) => {
    const release = await readRelease(CONTRACTS, version)
    expect(release.consumers.flatMap(({ calls }) => calls).length).toBeGreaterThan(0)
    const problems = checkRelease(release, { description: describeFulfilment(), inputProblem })
    if (problems.length > 0) throw new Error(`Callers of ${version} break:\n- ${problems.join('\n- ')}`)
  })
})

it('verifies the providers against the consumers of every release', () => {
  expect(releases.length).toBeGreaterThan(0)
  const pacts = [...VERIFIED_PROVIDERS.flatMap(contractsOf), ...['gateway', 'fulfilment'].flatMap(messageContractsOf)]
  const verified = [...pacts.map(({ name }) => name), ...tokenFiles()]
  for (const version of releases) {
    const names = contractNames(`${CONTRACTS}/releases/${version}`).map((name) => `releases/${version}/${name}`)
    expect(names.length).toBeGreaterThan(1)
    // The APIs of the senders of webhooks are theirs to verify.
    const ours = names.filter((name) => !/\/gateway-\w+-api\.json$/.test(name))
    expect(verified).toEqual(expect.arrayContaining(ours))
  }
})
