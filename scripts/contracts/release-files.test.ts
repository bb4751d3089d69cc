import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeFulfilment } from './describe-fulfilment.ts'
import { contractNames, readRelease, recordRelease, releaseNames } from './release-files.ts'

const CONTRACTS = join(import.meta.dirname, '..', '..', 'contracts')

it('records a release once, and reads it back', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'releases-'))
  for (const name of contractNames(CONTRACTS)) await cp(join(CONTRACTS, name), join(folder.path, name))
  await recordRelease(folder.path, '9.9.9')
  expect(await releaseNames(folder.path)).toEqual(['9.9.9'])
  const release = await readRelease(folder.path, '9.9.9')
  expect(release.description).toEqual(describeFulfilment())
  expect(release.consumers.map(({ consumer }) => consumer)).toEqual(['gateway'])
  await expect(recordRelease(folder.path, '9.9.9')).rejects.toMatchObject({ code: 'EEXIST' })
})
