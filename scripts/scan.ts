import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { checkAudit } from './scan/check-audit.ts'

// Compares what the services run with the advisories of the npm registry. The newest advisories are a matter of the day, so this
// is no test.
const options = { cwd: join(import.meta.dirname, '..'), maxBuffer: 100_000_000, timeout: 60_000 }
const output = await new Promise<string>((resolve) => {
  execFile('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=0'], options, (_error, stdout) => resolve(stdout))
})
const { lines, exitCode } = checkAudit(output, process.env.SCAN_REQUIRED === 'true')
for (const line of lines) process.stdout.write(`${line}\n`)
process.exitCode = exitCode
