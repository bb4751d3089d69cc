// Checks the form of the commit messages.
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { describeBadCommits } from './commit-form.ts'

/**
 * When the form of commit messages became a rule. Earlier commits cannot be changed. A date also works in a shallow
 * clone.
 */
const RULE_SINCE = '2026-11-23T12:45:00Z'

/** Commits that were shared before anyone noticed that they break the rule. */
const EXCUSED: readonly string[] = ['a0e4e157a6b228319ef8790c22eccf4c0ee8ad0a']

const repository = resolve(import.meta.dirname, '../..')
const bad = describeBadCommits(await readCommits())
for (const line of bad) process.stdout.write(`${line}\n`)
process.exitCode = bad.length > 0 ? 1 : 0

/**
 * The commits in this clone that the rule applies to. A folder without history, such as a downloaded archive, has none.
 */
async function readCommits() {
  const run = promisify(execFile)
  const inside = await run('git', ['rev-parse', '--show-prefix'], { cwd: repository }).catch(() => undefined)
  if (inside?.stdout.trim() !== '') return []
  const args = ['log', '--no-merges', `--since=${RULE_SINCE}`, '--format=%H%n%B%x00']
  const { stdout } = await run('git', args, { cwd: repository, maxBuffer: 64 * 2 ** 20 })
  return stdout
    .split('\0')
    .map((text) => text.trimStart())
    .filter((text) => text !== '')
    .map((text) => ({ id: text.slice(0, 40), message: text.slice(41) }))
    .filter(({ id }) => !EXCUSED.includes(id))
}
