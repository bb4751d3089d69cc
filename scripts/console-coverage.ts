import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { measureCoverage, readVisits, type Share, type SourceCoverage } from './console/measure-coverage.ts'

// One point below the current coverage. Raise it when the coverage grows.
const LEAST_PERCENT = { lines: 94, branches: 75 }
const MOST_SHOWN = 10

const repository = resolve(import.meta.dirname, '..')
const sources = join(repository, 'packages/console/src')
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), 'oncehook-console-coverage-'))
try {
  // Not minified: otherwise many statements would be on one line, and some in one expression.
  const asSources = ['--outDir', join(folder, 'dist'), '--minify', 'false', '--sourcemap', 'hidden']
  const build = ['node_modules/vite/bin/vite.js', 'build', 'packages/console', ...asSources, '--logLevel', 'warn']
  if (!succeeds(...build)) throw new Error('The page cannot be built')
  if (!succeeds('scripts/test.ts', '--project', 'console')) process.exitCode = 1
  const visits = await readVisits(folder, globSync('*.json', { cwd: folder }))
  const scripts = globSync('dist/assets/*.js', { cwd: folder })
  const measured = await Promise.all(scripts.map((script) => measureCoverage(join(folder, script), visits)))
  report(measured.flat().filter(({ path }) => path.startsWith(`${sources}/`)))
} finally {
  rmSync(folder, { recursive: true })
}

function succeeds(...args: readonly string[]): boolean {
  const { NODE_ENV: _, ...usual } = process.env // a test run sets it, and it would change the build
  const env = { ...usual, CONSOLE_COVERAGE: folder }
  return spawnSync(process.execPath, args, { cwd: repository, stdio: 'inherit', env }).status === 0
}

/** Prints the coverage and the files that missed the most lines. Sets the exit code if the coverage is too low. */
function report(files: readonly SourceCoverage[]): void {
  const missed = ({ lines }: SourceCoverage): number => lines.total - lines.covered
  const least = files.filter((file) => missed(file) > 0).toSorted((a, b) => missed(b) - missed(a))
  for (const file of least.slice(0, MOST_SHOWN))
    say(`${missed(file)} lines did not run: ${relative(sources, file.path)}`)
  for (const kind of ['lines', 'branches'] as const) {
    const percent = percentOf(files.map((file) => file[kind]))
    say(`${kind}: ${percent.toFixed(2)} %, at least ${LEAST_PERCENT[kind]} % in ${files.length} files`)
    if (!(percent >= LEAST_PERCENT[kind])) process.exitCode = 1
  }
}

function percentOf(shares: readonly Share[]): number {
  const sum = (kind: keyof Share): number => shares.reduce((so, share) => so + share[kind], 0)
  return (100 * sum('covered')) / sum('total')
}
