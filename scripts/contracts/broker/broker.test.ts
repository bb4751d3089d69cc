import { execFile } from 'node:child_process'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { NO_BROKER, readBroker } from './broker-settings.ts'
import { contractVersion } from './contract-version.ts'
import { type FakeBroker, startFakeBroker } from './fake-broker.ts'
import { publishResults } from './publish-results.ts'
import { participantsOf, publishedPacts } from './published-pacts.ts'
import { runClient } from './run-client.ts'
import { readResults } from './verification-results.ts'

const repository = resolve(import.meta.dirname, '../../..')
const pacts = publishedPacts(join(repository, 'contracts'))
const TOKEN = 'token-of-a-broker'
const version = { version: '0.2.0+4f1c', branch: 'feat/orders' }
const results = [
  { consumer: 'gateway', provider: 'fulfilment', success: true },
  { consumer: 'stripe', provider: 'gateway', success: false },
]
// Each test starts the official client, a program of 26 MB.
const SLOW = { timeout: 60_000 }

function brokerAt(url: string) {
  const broker = readBroker({ ...process.env, PACT_BROKER_BASE_URL: url, PACT_BROKER_TOKEN: TOKEN })
  if (broker === null) throw new Error('no broker')
  return broker
}

/** Runs the official client, and returns what it said and why it failed. */
async function client(url: string, args: readonly string[], withinMs = 30_000) {
  const lines: string[] = []
  const run = { broker: brokerAt(url), say: (line: string) => void lines.push(line), withinMs, retries: 0 }
  const failure = await runClient(args, run).then(
    () => null,
    (error: Error) => error.message,
  )
  return { said: lines.join('\n'), failure }
}

const publishing = [
  ...['publish', ...pacts.map(({ file }) => file)],
  ...['--consumer-app-version', version.version, '--branch', version.branch],
]
const asking = [
  'can-i-deploy',
  '--pacticipant',
  'gateway',
  '--version',
  version.version,
  '--to-environment',
  'production',
]

function publish(fake: FakeBroker, withinMs = 10_000): Promise<void> {
  return publishResults({ broker: brokerAt(fake.url), fetch, version, results, withinMs })
}

describe('the pacts', () => {
  it('are those whose provider is verified here, each pair of names once', () => {
    const pairs = pacts.map(({ consumer, provider }) => `${consumer} ${provider}`)
    expect(new Set(pairs).size).toBe(pairs.length)
    expect(pairs).toEqual(expect.arrayContaining(['gateway fulfilment', 'https-handler gateway', 'stripe gateway']))
    expect(pairs).not.toContain('gateway mollie-api')
    expect(participantsOf(pacts)).toEqual(expect.arrayContaining(['cli', 'fulfilment', 'gateway', 'shop']))
  })

  it('reach a broker with their version and branch, and nothing says the token', SLOW, async () => {
    await using fake = await startFakeBroker()
    const { said, failure } = await client(fake.url, publishing)
    expect([failure, said]).toEqual([null, expect.not.stringMatching(`${TOKEN}|Warning`)])
    const keys = pacts.map(({ consumer, provider }) => `${consumer} ${provider} 0.2.0+4f1c feat/orders`)
    expect([...fake.pacts.keys()].toSorted()).toEqual(keys.toSorted())
    expect(new Set(fake.requests.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${TOKEN}`]))
  })

  it.each([
    ['the token is refused', /./, 401, /401/],
    ['a pact has another content under this version', /POST/, 409, /refused by the fake|409/],
    ['the broker fails', /./, 503, /503/],
  ])('are not published if %s', SLOW, async (...[, match, status, words]) => {
    await using fake = await startFakeBroker()
    fake.fail(match, status)
    const { said, failure } = await client(fake.url, publishing)
    expect([failure, said]).toEqual(['publish failed: the reason is above', expect.stringMatching(words)])
    expect(said).not.toContain(TOKEN)
  })

  it('do not wait forever for a broker', SLOW, async () => {
    await using fake = await startFakeBroker()
    fake.fail(/./, null)
    const { failure } = await client(fake.url, publishing, 2_000)
    expect(failure).toBe('publish: the Pact Broker did not answer within 2 s')
  })
})

describe('can-i-deploy', () => {
  it.each([
    [true, null],
    [false, 'can-i-deploy failed: the reason is above'],
  ])('fails if the broker says no (%s)', SLOW, async (deployable, failure) => {
    await using fake = await startFakeBroker()
    if (!deployable) fake.refuseDeployments()
    expect(await client(fake.url, asking)).toMatchObject({ failure })
    const [{ path } = { path: '' }] = fake.requests
    expect(path).toMatch(/^\/matrix\?.*gateway.*0\.2\.0.4f1c.*environment=production/)
  })

  it.each([401, 503])('fails if the broker answers %i', SLOW, async (status) => {
    await using fake = await startFakeBroker()
    fake.fail(/./, status)
    const { said, failure } = await client(fake.url, asking)
    expect([failure, said]).toEqual([expect.stringContaining('failed'), expect.stringContaining(String(status))])
  })
})

it('records a deployment in an environment', SLOW, async () => {
  await using fake = await startFakeBroker()
  const deployed = ['--pacticipant', 'gateway', '--version', version.version, '--environment', 'production']
  expect(await client(fake.url, ['record-deployment', ...deployed])).toMatchObject({ failure: null })
  expect(fake.requests.at(-1)).toMatchObject({
    method: 'POST',
    path: '/pacticipants/gateway/versions/0.2.0+4f1c/deployed-versions/production',
  })
})

it('calls back when a pact changes, with the command of the README', SLOW, async () => {
  await using fake = await startFakeBroker()
  const readme = await readFile(join(repository, 'contracts/README.md'), 'utf8')
  const [, command = ''] = /^npx pact-broker (create-webhook (?:.*\\\n)*.*)$/m.exec(readme) ?? []
  const program = join(repository, 'node_modules/@pact-foundation/pact-cli/bin/pact-broker.js')
  const shell = `"$NODE" "${program}" ${command.replace('<owner>/<repository>', 'owner/repository')}`
  const env = { ...brokerAt(fake.url).env, NODE: process.execPath, TOKEN: 'of-github' }
  await promisify(execFile)('bash', ['-c', shell], { env })
  expect(fake.requests.at(-1)).toMatchObject({
    ...{ method: 'POST', path: '/webhooks' },
    body: {
      events: [{ name: 'contract_requiring_verification_published' }],
      provider: { name: 'gateway' },
      request: {
        ...{ method: 'POST', url: 'https://api.github.com/repos/owner/repository/dispatches' },
        headers: { Authorization: 'Bearer of-github' },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the broker fills it in
        body: { client_payload: { pact_url: '${pactbroker.pactUrl}' } },
      },
    },
  })
})

describe('the results of verifications', () => {
  it('are published for the pacts of the same version, after the branch of each provider', async () => {
    await using fake = await startFakeBroker()
    await publish(fake)
    const pact = '/pacts/provider/fulfilment/consumer/gateway/version/0.2.0+4f1c'
    const other = '/pacts/provider/gateway/consumer/stripe/version/0.2.0+4f1c'
    expect(fake.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PUT /pacticipants/fulfilment/branches/feat/orders/versions/0.2.0+4f1c',
      'PUT /pacticipants/gateway/branches/feat/orders/versions/0.2.0+4f1c',
      ...[`GET ${pact}`, `POST ${pact}/results`, `GET ${other}`, `POST ${other}/results`],
    ])
    const posted = fake.requests.filter(({ method }) => method === 'POST').map(({ body }) => body)
    expect(posted).toMatchObject([
      { success: true, providerApplicationVersion: '0.2.0+4f1c' },
      { success: false, providerApplicationVersion: '0.2.0+4f1c' },
    ])
    expect(new Set(fake.requests.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${TOKEN}`]))
  })

  it.each([
    [401, /PUT/, /401 \(check PACT_BROKER_TOKEN.*\): PUT \/pacticipants\/fulfilment/],
    [404, /GET/, /404 \(was the pact published with this version\?\): GET \/pacts\//],
    [409, /PUT/, /409 \(it has something else/],
    [503, /POST/, /503 \(it fails; nothing is lost, publish again later\): POST/],
  ])('say what went wrong if the broker answers %i', async (status, match, words) => {
    await using fake = await startFakeBroker()
    fake.fail(match, status)
    await expect(publish(fake)).rejects.toThrow(words)
  })

  it('do not wait forever, and never send the token to another server', async () => {
    await using fake = await startFakeBroker()
    await using stranger = await startFakeBroker()
    fake.linkResultsTo(`${stranger.url}/results`)
    await expect(publish(fake)).rejects.toThrow('The Pact Broker links to another server')
    expect(stranger.requests).toEqual([])
    fake.fail(/./, null)
    await expect(publish(fake, 300)).rejects.toThrow('did not answer within 0.3 s: PUT')
  })

  it('say that a broker cannot be reached', async () => {
    const gone = await startFakeBroker()
    await gone[Symbol.asyncDispose]()
    await expect(publish(gone)).rejects.toThrow('The Pact Broker cannot be reached: PUT')
  })

  it('are good only if each verification of a pact was', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'results-'))
    const file = join(folder.path, 'results')
    expect(readResults(file)).toEqual([])
    const [kept, broken] = results
    const lines = [
      { ...kept, test: 'on one database' },
      { ...broken, test: 'fails twice' },
      { ...kept, success: false, test: 'on another database' },
      { ...broken, test: 'fails twice' },
    ]
    const write = () => writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await write()
    expect(readResults(file)).toEqual([{ ...kept, success: false }, broken])
    lines.push({ ...kept, test: 'on another database' })
    await write()
    expect(readResults(file), 'when the test passed at its second run').toEqual([kept, broken])
  })
})

describe('the version', () => {
  it('is the release and the commit, and contracts that differ from it have none', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'version-'))
    const git = (...args: readonly string[]) =>
      promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: folder.path })
    await mkdir(join(folder.path, 'contracts'))
    await writeFile(join(folder.path, 'package.json'), '{"version":"0.2.0"}')
    await git('init', '--quiet', '--initial-branch=main')
    await git('add', '.')
    await git('commit', '--quiet', '--message=first')
    const { stdout } = await git('rev-parse', 'HEAD')
    expect(await contractVersion(folder.path)).toEqual({ version: `0.2.0+${stdout.trim()}`, branch: 'main' })
    expect(await contractVersion(folder.path, 'feat')).toMatchObject({ branch: 'feat' })
    await git('checkout', '--quiet', '--detach')
    await expect(contractVersion(folder.path)).rejects.toThrow('name it with --branch')
    await writeFile(join(folder.path, 'contracts/a-b.json'), '{}')
    await expect(contractVersion(folder.path, 'feat')).rejects.toThrow('commit it first')
  })
})

describe('without a broker', () => {
  it.each(['publish', 'can-i-deploy', 'record-deployment'])('%s says so in one line', async (command) => {
    const { PACT_BROKER_BASE_URL: _, ...env } = process.env
    const program = join(import.meta.dirname, 'main.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [program, command], { env })
    expect(stdout).toBe(`${NO_BROKER}\n`)
  })

  it('refuses a setting that is not a URL', () => {
    expect(() => readBroker({ PACT_BROKER_BASE_URL: 'broker.example.org' })).toThrow('PACT_BROKER_BASE_URL must be')
  })
})
