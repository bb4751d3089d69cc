import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { contractNames, lastRelease, recordRelease } from './release-files.ts'

const CONTRACTS = join(import.meta.dirname, '..', '..', 'contracts')

it('records each release once, and finds the highest version', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'releases-'))
  for (const name of contractNames(CONTRACTS)) await cp(join(CONTRACTS, name), join(folder.path, name))
  expect(await lastRelease(folder.path)).toBeUndefined()
  for (const version of ['0.10.0', '0.9.0']) await recordRelease(folder.path, version)
  expect(await lastRelease(folder.path)).toBe('0.10.0')
  const release = join(folder.path, 'releases', '0.10.0')
  expect(contractNames(release)).toEqual(contractNames(folder.path))
  await expect(recordRelease(folder.path, '0.9.0')).rejects.toMatchObject({ code: 'EEXIST' })
})
