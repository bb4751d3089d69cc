// Every command that a document says to type is run by a test, or stands in a list with what is checked instead.

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { PROVIDERS, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../packages/cli/src/testing/run-command.ts'
import { requireTool } from '../scripts/tools/find-tool.ts'

const repository = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(repository, path), 'utf8')

/** Tests that read a document and run all its commands of the command line. They name the document. */
const READERS = ['test/operations.test.ts', 'test/system/first-handler.system.test.ts']

/** What nothing runs as it is written, why, and what is checked instead: a test, or what somebody did once. */
const LISTED: readonly (readonly [command: RegExp, why: string, instead: string])[] = [
  [
    /^npm (?:test|start|run (?!(?:--silent )?oncehook))/,
    'runs for long, or is a test',
    'this test: the script is there',
  ],
  [/^(?:export )?\w+=/, 'sets a variable for the next lines', 'the lines that use it'],
  [/^(?:git clone|cd) /, 'needs the internet', 'scripts/test-bare.ts'],
  [/^stripe /, "needs Stripe's command line and an account", 'packages/webhooks/src/schemes/payments/stripe.test.ts'],
  [/^docker /, 'needs a Docker engine', 'test/container/compose.test.ts'],
  [/^docker\/pin-images\.sh/, 'needs a registry', 'test/supply-chain.test.ts'],
  [/^for node in mongo1/, 'needs a Docker engine', 'test/container/compose.test.ts'],
  [/^mongo(?:dump|restore) /, 'needs a replica set with users', "its options, in MongoDB's manual"],
  [/^npm run oncehook -- keys /, 'writes where it is run', 'packages/cli/src/commands/keys.test.ts'],
  [/contract verify --handler/, 'needs a handler of yours', 'packages/cli/src/commands/contract.test.ts'],
  [/^printf .*openssl rand/, 'needs openssl', 'packages/kernel/src/secrets/encryption.test.ts'],
  [/^npx (?:--package @pact|@?oncehook)/, 'needs the npm registry', 'test/system/packed-handler.system.test.ts'],
  [/^(?:npm (?:init|install)|echo )/, 'needs the npm registry', 'test/system/first-handler.system.test.ts'],
  [/^(?:go run|python3 -m venv|\.venv\/)/, 'needs Go or PyPI', 'test/system/examples.system.test.ts'],
]

/** Pages whose commands are for other machines, with the test of the files and settings that they use. */
const ELSEWHERE = new Map([
  ['docs/how-to/deploy-one-machine.md', 'test/container/compose.test.ts'],
  ['docs/how-to/deploy-three-machines.md', 'test/configuration.test.ts'],
  ['docs/how-to/deploy-kubernetes.md', 'test/kubernetes.test.ts'],
])

/** In the order in which a reader types them. */
const RUN_HERE = [
  ...[
    'README.md',
    'docs/tutorials/payments-with-stripe.md',
    'docs/how-to/correct-an-order.md',
    'docs/how-to/connect-a-provider.md',
  ],
  ...['docs/reference/handlers.md', 'docs/reference/http.md'],
]

interface Typed {
  readonly document: string
  readonly command: string
}

const documents = globSync(['*.md', 'docs/**/*.md', '{bench,contracts,docker,packages,examples,test}/**/*.md'], {
  cwd: repository,
  exclude: ['**/node_modules/**', 'CHANGELOG.md'],
})
const typed = documents.flatMap((document) => commandsOf(document).map((command): Typed => ({ document, command })))
const isListed = ({ document, command }: Typed): boolean =>
  ELSEWHERE.has(document) || LISTED.some(([pattern]) => pattern.test(command))
const isOfOncehook = (command: string): boolean => /^npm run (?:--silent )?oncehook -- /.test(command)

function isRunHere({ document, command }: Typed): boolean {
  return RUN_HERE.includes(document) && (isOfOncehook(command) || /^(?:curl|stripe trigger) /.test(command))
}

function isRunByReader({ document, command }: Typed): boolean {
  const named = new RegExp(`['/]${basename(document, '.md')}(?:\\.md)?'`)
  return isOfOncehook(command) && READERS.some((test) => named.test(read(test)))
}

it('every command of a document is run by a test, or listed with what is checked instead', () => {
  expect(typed.length).toBeGreaterThan(80)
  expect(typed.filter((one) => !isListed(one) && !isRunHere(one) && !isRunByReader(one))).toEqual([])
  expect(LISTED.filter(([pattern]) => !typed.some(({ command }) => pattern.test(command)))).toEqual([])
  expect([...ELSEWHERE.keys()].filter((page) => !documents.includes(page))).toEqual([])
  const named = [...ELSEWHERE.values(), ...LISTED.map(([, , instead]) => instead)].filter((instead) =>
    /^\S+\.ts$/.test(instead),
  )
  expect(named.filter((test) => !existsSync(join(repository, test)))).toEqual([])
})

it('every script that a document runs with npm is there', () => {
  const missing = typed.filter(({ document, command }) => {
    const [, run, script = run] = /^npm (?:(test|start)\b|run (?:--silent )?([\w:-]+))/.exec(command) ?? []
    if (script === undefined) return false
    const folders = [dirname(document), '.'].map((folder) => join(folder, 'package.json'))
    return folders.every((path) => !existsSync(join(repository, path)) || !read(path).includes(`"${script}": "`))
  })
  expect(missing).toEqual([])
})

describe('the commands of the documents', () => {
  const stack = new AsyncDisposableStack()
  afterAll(() => stack.disposeAsync())

  it('work as written, in their order', async (context) => {
    await requireTool('curl', context)
    const database = stack.use(await testDatabase(process.env))
    const secrets = [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }]
    const handler = { https: 'http://127.0.0.1:9/hook', secrets, events: [{ types: ['customer.*'] }] }
    const HANDLERS = JSON.stringify({ billing: handler, first: handler, search: handler })
    const system = stack.use(await startOperatedSystem(database, { settings: { HANDLERS } }))
    const stripe = { scheme: 'stripe', testMode: true, secrets: PROVIDERS.acme.secrets }
    await system.writeProviders({ ...PROVIDERS, stripe })
    const operator = system.operator()
    await expect.poll(() => operator.providers.list.query()).toMatchObject({ length: 3 })
    const folder = mkdtempSync(join(tmpdir(), 'oncehook-documents-'))
    stack.defer(() => rmSync(folder, { recursive: true }))
    const { url: gatewayUrl, adminUrl } = system.gateway
    const files = { secretsFile: 'secrets.json', providersFile: 'providers.json', secretVariables: {} }
    writeFileSync(join(folder, 'running.json'), JSON.stringify({ gatewayUrl, adminUrl, ...files, pid: process.pid }))
    const { operators, api } = system.tokens
    const kept = { apiTokens: { dev: api }, operatorTokens: operators, providers: {} }
    writeFileSync(join(folder, 'secrets.json'), JSON.stringify(kept))
    writeFileSync(join(folder, 'providers.json'), JSON.stringify({ ...PROVIDERS, stripe }))

    async function oncehook(args: readonly string[]): Promise<{ exitCode: number; stderr: string }> {
      return runCommand(args, { dataFolder: folder })
    }
    // Orders of their own: what the README does is done again by the tutorial, and the shop corrects what an operator corrects.
    const unpaid = await system.order()
    const withOwnOrder = ({ document, command }: Typed): string => {
      if (document === 'README.md') return command.replaceAll('order-1', 'order-0')
      return command.startsWith('curl ') && basename(document) === 'correct-an-order.md'
        ? command.replaceAll('order-2', unpaid)
        : command
    }
    async function run(one: Typed): Promise<void> {
      const line = withOwnOrder(one).replaceAll('http://127.0.0.1:8080', gatewayUrl)
      // Its payment comes as Stripe's command line would cause it.
      const [, paid = ''] = /^stripe trigger .*order_id\]=([\w-]+)/.exec(line) ?? []
      if (paid !== '')
        return void (await oncehook(['send', '--provider', 'stripe', '--order', paid, '--amount', '2000']))
      const shell = line
        .replace(/^npm run (?:--silent )?oncehook --/, "printf '%s\\0'")
        .replace(/^curl /, 'curl --fail-with-body --silent --show-error ')
      const env = { ...process.env, TOKEN: api }
      const { stdout } = await promisify(execFile)('sh', ['-c', shell], { env, cwd: folder })
      if (!isOfOncehook(line)) return
      const { exitCode, stderr } = await oncehook(stdout.split('\0').slice(0, -1))
      expect(exitCode, `${one.document}: ${line}\n${stderr}`).toBe(0)
    }

    const isTyped = (one: Typed): boolean => one.command.startsWith('stripe trigger') || !isListed(one)
    for (const document of RUN_HERE)
      for (const one of typed) if (one.document === document && isRunHere(one) && isTyped(one)) await run(one)
    for (const order of ['order-0', 'order-1', 'order-2', 'order-3'])
      expect(await operator.orders.get.query({ id: order })).toMatchObject({ status: 'paid' })
  })
})

/** The commands of a document: the lines of its shell blocks. One that ends with a backslash goes on, and so does a loop. */
function commandsOf(document: string): string[] {
  const blocks = [...read(document).matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
  return blocks.flatMap(([, indent = '', language = '', block = '']) => {
    const text = block.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    const lines = text.match(/^for .*\n[\s\S]*?^done$|^(?:.*\\\n)*.*$/gm) ?? []
    const commands = lines.map((line) => line.replace(/ +# .*$/, '').trim()).filter((line) => /^[^#]/.test(line))
    // A block without a language has output, too.
    return language === 'sh'
      ? commands
      : language === ''
        ? commands.filter((line) => /^(?:npm|npx|docker) /.test(line))
        : []
  })
}
