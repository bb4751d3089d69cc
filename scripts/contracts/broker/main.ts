import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { NO_BROKER, readBroker } from './broker-settings.ts'
import { contractVersion } from './contract-version.ts'
import { publishResults } from './publish-results.ts'
import { participantsOf, publishedPacts } from './published-pacts.ts'
import { runClient } from './run-client.ts'
import { readResults } from './verification-results.ts'

// npm run contracts:publish, contracts:can-i-deploy and contracts:record-deployment: see contracts/README.md
const WITHIN_MS = 120_000
const options = {
  branch: { type: 'string' },
  results: { type: 'string' },
  environment: { type: 'string', default: 'production' },
  participant: { type: 'string', multiple: true },
} as const

const repository = resolve(import.meta.dirname, '../../..')
const say = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  await run()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const broker = readBroker(process.env)
  if (broker === null) return say(NO_BROKER)
  const pacts = publishedPacts(join(repository, 'contracts'))
  const { environment, participant: names = participantsOf(pacts) } = values
  // GitHub checks out a commit, and names the branch in the environment.
  const branch = values.branch ?? (process.env.GITHUB_HEAD_REF || process.env.GITHUB_REF_NAME)
  const version = await contractVersion(repository, branch)
  const client = { broker, say, withinMs: WITHIN_MS }
  const [command] = positionals
  if (command === 'publish') {
    const files = pacts.map(({ file }) => file)
    await runClient(
      ['publish', ...files, '--consumer-app-version', version.version, '--branch', version.branch],
      client,
    )
    const results = values.results === undefined ? [] : readResults(values.results)
    await publishResults({ ...{ broker, fetch, version, results }, withinMs: WITHIN_MS })
    return say(`Published ${pacts.length} pacts and ${results.length} results as ${version.version}`)
  }
  if (command === 'can-i-deploy') {
    const selected = names.flatMap((name) => ['--pacticipant', name, '--version', version.version])
    return runClient(['can-i-deploy', ...selected, '--to-environment', environment], client)
  }
  if (command !== 'record-deployment') throw new Error('Say publish, can-i-deploy or record-deployment')
  for (const name of names) {
    const deployed = ['--pacticipant', name, '--version', version.version, '--environment', environment]
    await runClient(['record-deployment', ...deployed], client)
  }
}
