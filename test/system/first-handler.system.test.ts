import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { packInstalled } from '../support/install-package.ts'
import { withoutNpm } from '../support/without-npm.ts'

const repository = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

/** The driver with all that it needs, and what our packages depend on: the test installs without a network. */
const DRIVER = [
  ...['mongodb', 'bson', '@mongodb-js/saslprep', 'sparse-bitfield', 'memory-pager', 'mongodb-connection-string-url'],
  ...['whatwg-url', 'tr46', 'punycode', 'webidl-conversions', '@types/whatwg-url', '@types/webidl-conversions'],
  'zod',
]
const WITHOUT_NETWORK = {
  ...{ npm_config_offline: 'true', npm_config_ignore_scripts: 'true' },
  ...{ npm_config_audit: 'false', npm_config_fund: 'false' },
}

/** The commands and the program of the tutorial, in their order. */
async function readBlocks(): Promise<string[]> {
  const document = await readFile(join(repository, 'docs/tutorials/your-first-handler.md'), 'utf8')
  const blocks = Array.from(document.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, language, text = '']) => ({
    language,
    text,
  }))
  expect(blocks.map(({ language }) => language)).toEqual(['sh', 'sh', 'js', 'sh'])
  return blocks.map(({ text }) => text)
}

/** A block in which a reader has replaced these texts. */
function fillIn(block: string, texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts).reduce((filled, [text, other]) => {
    expect(block).toContain(text)
    return filled.replaceAll(text, () => other)
  }, block)
}

/** The script of a command of npm, without npm, which would not pass signals on. It ends up as the process itself. */
const direct = (script: string): string => `'${process.execPath}' scripts/bootstrap.mjs ${script}`

/** A terminal: it runs a block in a folder, until it prints a line that begins like this. Its end is that of the processes. */
async function openTerminal(block: string, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }, ready: RegExp) {
  const shell = spawn('sh', ['-ec', block], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(shell, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: shell.stdout })) {
    lines.push(line)
    if (ready.test(line)) break
  }
  if (!ready.test(lines.at(-1) ?? '')) throw new Error(`It did not start:\n${lines.join('\n')}`)
  shell.stdout.resume()
  return {
    lines,
    async [Symbol.asyncDispose]() {
      shell.kill('SIGINT')
      await exit
    },
  }
}

/** Starts the program of the reader, and waits until it serves its port. */
async function startHandler(port: number, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(process.execPath, ['handler.mjs'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const said: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text))
  await using resources = new AsyncDisposableStack()
  resources.defer(async () => {
    child.kill('SIGTERM')
    await exit
  })
  const isReady = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok)
  await Promise.race([
    expect.poll(() => isReady().catch(() => false)).toBe(true),
    exit.then(([code]) => Promise.reject(new Error(`The handler ended with ${code}`))),
  ])
  expect(child.exitCode).toBeNull()
  const owned = resources.move()
  return { said: () => said.join(''), [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

it('the first handler of docs/tutorials/your-first-handler.md acts once on an event that is delivered twice', async () => {
  const root = await mkdtemp(join(tmpdir(), 'oncehook-first-handler-'))
  await using resources = new AsyncDisposableStack()
  resources.defer(() => rm(root, { recursive: true, force: true }))
  const [start = '', install = '', program = '', deliver = ''] = await readBlocks()
  const { MONGODB_URI: _, ...inherited } = process.env
  const ports = { GATEWAY_PORT: '0', ADMIN_PORT: '0', FULFILMENT_PORT: '0' }
  const env = { ...withoutNpm(inherited), ...ports, ONCEHOOK_DATA: join(root, 'data') }
  const port = await stablePort()

  const started = fillIn(start, {
    'npm run pack': direct(`scripts/pack.ts '${root}/dist'`),
    '8091': String(port),
    'npm start': `exec ${direct('scripts/start.ts')}`,
  })
  const system = resources.use(await openTerminal(started, { cwd: repository, env }, /^Ready/))
  const printed = (words: RegExp): string => words.exec(system.lines.join('\n'))?.[1] ?? 'nothing'
  const secret = printed(/^(whsec_.+)$/m)
  const mongoUri = printed(/ MongoDB +(mongodb:\S+)$/m).replace('/?', '/first?')

  const folder = join(root, 'project')
  await mkdir(folder)
  const driver = await Promise.all(DRIVER.map((name) => packInstalled(name, root)))
  const handlerEnv = { ...env, ...WITHOUT_NETWORK, WEBHOOK_SECRET: secret, MONGODB_URI: mongoUri }
  const installed = fillIn(install, {
    'whsec_…': secret,
    '/path/to/oncehook': root,
    'mongodb://127.0.0.1:27117/first?replicaSet=rs0': mongoUri,
    'mongodb@7': driver.map((path) => `'${path}'`).join(' '),
  })
  const { stdout } = await run('sh', ['-ec', installed], { cwd: folder, env: { ...env, ...WITHOUT_NETWORK } })
  expect(stdout).toContain('Created the collection oncehook_keys')
  await writeFile(join(folder, 'handler.mjs'), fillIn(program, { '8091': String(port) }))
  const handler = resources.use(await startHandler(port, { cwd: folder, env: handlerEnv }))

  const delivered = fillIn(deliver, {
    'event.json': join(root, 'event.json'),
    'npm run --silent oncehook --': direct('packages/cli/src/main.ts'),
    'npm run oncehook --': direct('packages/cli/src/main.ts'),
  })
  const send = async (): Promise<string> => (await run('sh', ['-ec', delivered], { cwd: repository, env })).stdout
  const client = resources.use(await new MongoClient(mongoUri).connect())
  const effects = () =>
    client
      .db()
      .collection('customers')
      .find({}, { projection: { _id: 0 } })
      .toArray()
  expect(await send()).toContain('{"received":true}')
  await expect.poll(effects).toEqual([{ customer: 'cus_1' }])
  const again = await send()
  expect(again).toContain('{"received":true}')
  expect(again).toMatch(/^.*customer\.created.*done.*$/m)
  expect(await effects()).toEqual([{ customer: 'cus_1' }])
  expect(handler.said()).toBe('cus_1 is a customer\n')
})
