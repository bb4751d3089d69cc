import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InstalledTool } from '../python-tools/install-python-tool.ts'

/** A running system, and the credentials for it. */
export interface ApiUnderTest {
  readonly url: string
  readonly token: string
  /** A `whsec_` secret of the provider `acme`. */
  readonly webhookSecret: string
}

/** How much to test. */
export interface Amount {
  /** The minimum number of cases. */
  readonly cases: number
  /** Further arguments of `schemathesis run`. */
  readonly args: readonly string[]
}

/** The result of a run. */
export interface ApiReport {
  readonly exitCode: number
  readonly cases: number
}

const CONFIGURATION = join(import.meta.dirname, 'schemathesis.toml')
const HOOKS = join(import.meta.dirname, 'hooks.py')

/**
 * Runs schemathesis with our configuration against the OpenAPI document of a running system. It writes to our standard
 * output.
 */
export async function runSchemathesis(tool: InstalledTool, api: ApiUnderTest, amount: Amount): Promise<ApiReport> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-schemathesis-'))
  const report = join(folder, 'report.json')
  try {
    const document = `${api.url}/api/openapi.json`
    const run = ['run', document, '--continue-on-failure', '--generation-database', 'none']
    const many = ['--max-examples', String(await casesForEach(document, amount.cases))]
    const child = spawn(
      tool.command,
      [
        '--config-file',
        CONFIGURATION,
        ...run,
        ...many,
        '--report',
        'json',
        '--report-json-path',
        report,
        ...amount.args,
      ],
      {
        // schemathesis writes its caches to the working folder.
        cwd: folder,
        env: {
          ...tool.env,
          SCHEMATHESIS_HOOKS: HOOKS,
          PYTHONDONTWRITEBYTECODE: '1',
          API_TOKEN: api.token,
          WEBHOOK_SECRET: api.webhookSecret,
        },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    )
    const [exitCode] = (await once(child, 'close')) as [number | null]
    return { exitCode: exitCode ?? 1, cases: await countCases(report) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * The number of cases per operation, for a total number of cases. The cases that the schema itself requires are extra.
 */
async function casesForEach(document: string, cases: number): Promise<number> {
  const { paths } = (await (await fetch(document)).json()) as { paths: Record<string, object> }
  const operations = Object.values(paths).reduce((sum, item) => sum + Object.keys(item).length, 0)
  return Math.ceil(cases / operations)
}

async function countCases(report: string): Promise<number> {
  const { test_cases: counted } = JSON.parse(await readFile(report, 'utf8')) as { test_cases: { generated: number } }
  return counted.generated
}
