import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Say } from '../progress.ts'

/** A tool that reads the sources but does not run them. */
export interface Check {
  readonly name: string
  readonly command: readonly string[]
}

/**
 * Checks lint rules, format, types, dead code and commit messages. With `fix`, lint and format problems are fixed where
 * that is safe.
 */
export function checks({ fix }: { fix: boolean }): readonly Check[] {
  return [
    {
      name: 'lint',
      command: ['node_modules/@biomejs/biome/bin/biome', 'check', ...(fix ? ['--write'] : []), '--error-on-warnings'],
    },
    { name: 'types', command: typesOf('.', 'all') },
    { name: 'types of the console', command: typesOf('packages/console', 'console') },
    { name: 'dead code', command: ['node_modules/knip/bin/knip.js', '--no-progress', '--no-config-hints'] },
    { name: 'commit messages', command: ['scripts/check/check-commits.ts'] },
  ]
}

/** What it has found is kept: the next run looks only at what has changed. */
function typesOf(project: string, name: string): readonly string[] {
  const kept = `node_modules/.cache/types/${name}.tsbuildinfo`
  return [
    'node_modules/typescript/bin/tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    kept,
    '--project',
    project,
  ]
}

/** Runs all checks in parallel and reports the result of each, with the output of those that failed. Returns how many failed. */
export async function runChecks(repository: string, list: readonly Check[], say: Say): Promise<number> {
  const passed = await Promise.all(
    list.map(async ({ name, command: [tool = '', ...args] }) => {
      const started = performance.now()
      const child = spawn(process.execPath, [join(repository, tool), ...args], {
        cwd: repository,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
      const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
      const seconds = ((performance.now() - started) / 1_000).toFixed(1)
      say(`${code === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
      if (code !== 0) say(`${stdout}${stderr}`.trimEnd())
      return code === 0
    }),
  )
  return passed.filter((one) => !one).length
}
