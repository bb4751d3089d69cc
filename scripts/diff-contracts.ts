import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { diffDescriptions } from './contracts/diff/diff-descriptions.ts'
import { sayBriefly, sayInFull } from './contracts/diff/say-changes.ts'
import { DESCRIPTIONS, lastRelease, readDescription } from './contracts/release-files.ts'

// What the procedures added, changed and removed since a release (default: the last one), and what breaks callers.
const options = { brief: { type: 'boolean', default: false } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const contracts = join(resolve(import.meta.dirname, '..'), 'contracts')
const version = positionals[0] ?? (await lastRelease(contracts))
if (version === undefined) {
  console.log('Procedures: no release is recorded yet')
} else {
  const changes = Object.entries(DESCRIPTIONS).map(async ([provider, describe]) => {
    const before = await readDescription(contracts, { version, provider })
    return { provider, changes: diffDescriptions(before, describe()) }
  })
  const say = values.brief ? sayBriefly : sayInFull
  for (const line of say(version, await Promise.all(changes))) console.log(line)
}
