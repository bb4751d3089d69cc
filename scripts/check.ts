// Checks lint, types, dead code and commit messages, or fixes what it can: npm run check, npm run fix.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checks, runChecks } from './check/run-checks.ts'
import { writeGeneratedFiles } from './generate/generated-files.ts'

const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } })
const repository = resolve(import.meta.dirname, '..')
if (values.fix) await writeGeneratedFiles(repository, console.log) // first, because the formatter must run last
process.exitCode = (await runChecks(repository, checks(values), console.log)) === 0 ? 0 : 1
