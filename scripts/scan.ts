import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { checkAudit } from './scan/check-audit.ts'

// Checks the packages that the services run against the advisories of the npm registry. This is not a test, because the
// advisories can change every day.
const options = { cwd: join(import.meta.dirname, '..'), maxBuffer: 100_000_000, timeout: 60_000 }
const output = await new Promise<string>((resolve) => {
  execFile('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=0'], options, (_error, stdout) => resolve(stdout))
})
const { lines, exitCode } = checkAudit(output, process.env.SCAN_REQUIRED === 'true')
for (const line of lines) process.stdout.write(`${line}\n`)
process.exitCode = exitCode
