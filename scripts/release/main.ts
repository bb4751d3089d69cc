// Makes a release from the changesets: npm run release.
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { recordLibraries } from '../contracts/library-types.ts'
import { recordRelease } from '../contracts/release-files.ts'
import { prepareRelease } from './prepare-release.ts'

// Later versions are checked against the contracts that a release records.
const repository = resolve(import.meta.dirname, '../..')
const version = await prepareRelease(repository, new Date().toISOString().slice(0, 10))
await promisify(execFile)('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: repository })
await recordLibraries(repository, false)
await recordRelease(join(repository, 'contracts'), version)
process.stdout.write(`Prepared ${version}: read the changes, commit them as "chore(release): ${version}", and push\n`)
