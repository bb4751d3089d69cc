import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { keepProduction } from './sbom/keep-production.ts'

// Writes a list of the packages that the services run, from the lock file, in CycloneDX format.
const repository = join(import.meta.dirname, '..')
const file = process.argv[2] ?? join(repository, 'oncehook.cdx.json')
const flags = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']
const options = { cwd: repository, maxBuffer: 100_000_000 }
const { stdout } = await promisify(execFile)('npm', ['sbom', ...flags], options)
const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8'))
const list = keepProduction(JSON.parse(stdout), lock)
await writeFile(file, `${JSON.stringify(list, null, 2)}\n`)
process.stdout.write(`${file}: ${list.components.length} packages\n`)
