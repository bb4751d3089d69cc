import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { recordRelease } from './contracts/release-files.ts'

// Run at a release, when package.json has its version. Later versions must keep what is recorded here.
await recordRelease(join(import.meta.dirname, '..', 'contracts'), packageJson.version)
process.stdout.write(`Recorded the contracts of ${packageJson.version}\n`)
