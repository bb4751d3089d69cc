import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checks, runChecks } from './check/run-checks.ts'

const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } })
const results = await runChecks(resolve(import.meta.dirname, '..'), checks(values), (line) => console.log(line))
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1
