import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What a broker knows this state of the repository by. */
export interface ContractVersion {
  /** `<release>+<commit>`: the version in `package.json` and the whole commit. */
  readonly version: string
  readonly branch: string
}

/**
 * The version and the branch of a repository. A branch must be given if none is checked out, as in CI.
 * @throws if a contract differs from the commit, or no branch is known
 */
export async function contractVersion(repository: string, branch?: string): Promise<ContractVersion> {
  const git = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)('git', [...args], { cwd: repository })).stdout.trim()
  if ((await git('status', '--porcelain', '--', 'contracts')) !== '') {
    throw new Error('A file in contracts/ differs from the commit that would name it: commit it first')
  }
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string }
  const named = branch ?? (await git('branch', '--show-current'))
  if (named === '') throw new Error('No branch is checked out: name it with --branch')
  return { version: `${version}+${await git('rev-parse', 'HEAD')}`, branch: named }
}
