import { cp, mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeFulfilment } from './describe-fulfilment.ts'
import { describeHandler } from './describe-handler.ts'
import { contractNames, lastRelease, readDescription, readRelease, recordRelease } from './release-files.ts'

const CONTRACTS = join(import.meta.dirname, '..', '..', 'contracts')

it('records a release once, and reads it back', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'releases-'))
  for (const name of contractNames(CONTRACTS)) await cp(join(CONTRACTS, name), join(folder.path, name))
  expect(await lastRelease(folder.path)).toBeUndefined()
  await recordRelease(folder.path, '9.9.9')
  expect(await lastRelease(folder.path)).toBe('9.9.9')
  const release = await readRelease(folder.path, '9.9.9')
  expect(release.description).toEqual(describeFulfilment())
  expect(release.consumers.map(({ consumer }) => consumer)).toEqual(['gateway'])
  const handler = { version: '9.9.9', provider: 'handler' }
  expect(await readDescription(folder.path, handler)).toEqual(describeHandler())
  await expect(recordRelease(folder.path, '9.9.9')).rejects.toMatchObject({ code: 'EEXIST' })
})

it('compares with the release that has the highest version', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'releases-'))
  for (const version of ['0.9.0', '0.10.0']) await mkdir(join(folder.path, 'releases', version), { recursive: true })
  expect(await lastRelease(folder.path)).toBe('0.10.0')
  // It had no handlers.
  const handler = { version: '0.10.0', provider: 'handler' }
  expect(await readDescription(folder.path, handler)).toEqual({ procedures: {}, errors: {} })
})
