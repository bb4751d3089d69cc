// Checks lint, types, dead code and commit messages, or fixes what it can: npm run check, npm run fix.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checks, runChecks } from './check/run-checks.ts'
import { recordLibraries } from './contracts/library-types.ts'
import { writeGeneratedFiles } from './generate/generated-files.ts'

const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } })
const repository = resolve(import.meta.dirname, '..')
if (values.fix) {
  // First, because the formatter must run last.
  await writeGeneratedFiles(repository, console.log)
  await recordLibraries(repository, process.env.UPDATE_CONTRACTS === '1')
}
process.exitCode = (await runChecks(repository, checks(values), console.log)) === 0 ? 0 : 1
