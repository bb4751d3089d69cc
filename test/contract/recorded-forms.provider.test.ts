import { join } from 'node:path'
import { it } from 'vitest'
import { demandLibrary, LIBRARIES } from '../../scripts/contracts/library-types.ts'
import { DESCRIPTIONS, demandDescription } from '../../scripts/contracts/release-files.ts'
import { CONTRACTS } from './pact-files.ts'

it.each(Object.keys(DESCRIPTIONS))('the provider %s takes and answers all that its description says', (provider) => {
  demandDescription(CONTRACTS, provider)
})

it.each(LIBRARIES)('programs that use @oncehook/%s still compile', async (library) => {
  await demandLibrary(join(import.meta.dirname, '../..'), library)
})
