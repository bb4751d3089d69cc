import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stablePort } from '../ports/stable-port.ts'
import { born } from '../processes/process-lock.mjs'

// The starter and MongoDB are real. Small programs replace the services, so that they can misbehave.
const GOOD = `
  import { createServer } from 'node:http'
  const port = process.argv[1].includes('gateway') ? process.env.ADMIN_PORT : process.env.FULFILMENT_PORT
  let early = true
  const server = createServer((request, response) => {
    if (request.url === '/crash') throw new Error('crash')
    if (request.url !== '/operator/signIn.createCode') return response.end()
    const isDev = Object.values(JSON.parse(process.env.OPERATOR_TOKENS)).some((token) => request.headers.authorization === 'Bearer ' + token)
    response.statusCode = early ? 503 : isDev ? 200 : 401
    early = false
    response.end(response.statusCode === 200 ? '{"result":{"data":{"code":"one-time-code"}}}' : '{}')
  }).listen(port, '127.0.0.1')
  console.log(JSON.stringify({ level: 'info', pid: process.pid }))
  const stop = () => { console.log('{"level":"warn","msg":"stopped"}'); process.exit(0) }
`
const ORDERLY = `${GOOD} process.on('SIGTERM', stop)`
// None is started then, and the programs need none.
const OTHER_MONGODB = { MONGODB_URI: 'mongodb://user:hidden-word@127.0.0.1:1/' }
const STUBBORN = `${GOOD} process.on('SIGTERM', () => {})`

async function clone(programs: { gateway?: string; fulfilment?: string } = {}) {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-start-'))
  await writeFile(join(path, 'gateway.mjs'), programs.gateway ?? ORDERLY)
  await writeFile(join(path, 'fulfilment.mjs'), programs.fulfilment ?? ORDERLY)
  const module = (name: string) => JSON.stringify(join(import.meta.dirname, name))
  await writeFile(
    join(path, 'start.mjs'),
    `import { runSystem } from ${module('run-system.ts')}
     import { listenForStop } from ${module('stop-signals.ts')}
     process.exit(await runSystem({
       repository: ${JSON.stringify(path)}, env: process.env, say: console.log, signals: listenForStop(),
       programs: { gateway: ${JSON.stringify(join(path, 'gateway.mjs'))}, fulfilment: ${JSON.stringify(join(path, 'fulfilment.mjs'))} },
     }))`,
  )
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function start(path: string, env: NodeJS.ProcessEnv = {}) {
  const ports = { GATEWAY_PORT: '0', ADMIN_PORT: '0', FULFILMENT_PORT: '0' }
  const { MONGODB_URI: _, ONCEHOOK_DATA: __, ...inherited } = process.env
  const child = spawn(process.execPath, [join(path, 'start.mjs')], {
    env: { ...inherited, ...ports, ...env },
    stdio: 'pipe',
  })
  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  const exit = once(child, 'close').then(([code]) => code as number | null)
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    if (line.startsWith('Ready')) ready.resolve()
  })
  child.stderr.on('data', (chunk) => lines.push(String(chunk)))
  void exit.then(() => ready.reject(new Error(`It ended:\n${lines.join('\n')}`)))
  ready.promise.catch(() => undefined)
  return { child, lines, ready: ready.promise, exit, [Symbol.asyncDispose]: () => stop(child, exit) }
}

async function stop(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  await exit
}

async function servicePid(folder: string, name: string): Promise<number> {
  const [line = ''] = (await readFile(join(folder, '.data', 'logs', `${name}.log`), 'utf8')).split('\n')
  return JSON.parse(line).pid
}

async function mongodPid(folder: string): Promise<number> {
  return Number(await readFile(join(folder, '.data', 'mongo', 'mongod.lock'), 'utf8'))
}

// One system for all of these, which none of them stops.
describe('npm start, once it is ready', () => {
  let folder: Awaited<ReturnType<typeof clone>>
  let system: ReturnType<typeof start>
  beforeAll(async () => {
    folder = await clone()
    system = start(folder.path)
    await system.ready
  })
  afterAll(async () => {
    await system[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  it('prints the addresses, one line to paste, then Ready, and no secret', async () => {
    const paste = system.lines.findIndex((line) => line.startsWith('npm run oncehook -- send '))
    expect(paste).toBeGreaterThan(0)
    expect(system.lines.slice(paste + 1).filter((line) => line !== '')).toEqual([expect.stringMatching(/^Ready /)])
    const { adminUrl } = JSON.parse(await readFile(join(folder.path, '.data', 'running.json'), 'utf8'))
    const console = system.lines.findIndex((line) => line.startsWith('  Console '))
    expect(system.lines[console]).toBe(
      `  Console       ${adminUrl}/sign-in#one-time-code (signs in once, within 10 minutes)`,
    )
    expect(console).toBeLessThan(paste)
    const secrets = JSON.parse(await readFile(join(folder.path, '.data', 'secrets.json'), 'utf8'))
    const values = JSON.stringify(secrets).match(/[\w+/=-]{32,}/g) ?? []
    expect(values.length).toBeGreaterThanOrEqual(6)
    for (const value of values) expect(system.lines.join('\n')).not.toContain(value)
  })

  it('writes its URLs for the command line, in files that only this user can read', async () => {
    const data = join(folder.path, '.data')
    const running = JSON.parse(await readFile(join(data, 'running.json'), 'utf8'))
    expect(running).toMatchObject({ pid: system.child.pid, secretsFile: join(data, 'secrets.json') })
    expect(running.receiptsFile).toBe(join(data, 'receipts.jsonl'))
    expect((await fetch(running.adminUrl)).status).toBe(200)
    for (const name of ['running.json', 'secrets.json', 'providers.json', 'logs/gateway.log']) {
      expect((await stat(join(data, name))).mode & 0o077, name).toBe(0)
    }
  })

  it('refuses to run twice on the same data', async () => {
    const second = start(folder.path)
    expect(await second.exit).toBe(1)
    expect(second.lines[0]).toContain(
      `Oncehook is already running in ${join(folder.path, '.data')} (process ${system.child.pid})`,
    )
  })
})

describe('npm start', () => {
  it('prints the address of the page without a link for operators of other settings', async () => {
    await using folder = await clone()
    await using system = start(folder.path, {
      ...OTHER_MONGODB,
      OPERATOR_TOKENS: '{"alice":"a-token-of-somebody-else-0123456789"}',
    })
    await system.ready
    expect(system.lines.find((line) => line.startsWith('  Console '))).toMatch(
      /^ {2}Console {7}http:\/\/127\.0\.0\.1:\d+ \(npm run oncehook -- sign-in prints a link, with one of your OPERATOR_TOKENS in ONCEHOOK_OPERATOR_TOKEN\)$/,
    )
  })

  it('does not wait for a stubborn service when it is asked a second time', async () => {
    await using folder = await clone({ gateway: STUBBORN })
    const system = start(folder.path, OTHER_MONGODB)
    await system.ready
    system.child.kill('SIGINT')
    const again = setInterval(() => system.child.kill('SIGINT'), 100)
    expect(await system.exit).toBe(1)
    clearInterval(again)
    expect(system.lines).toContain('Killed the gateway, which had not finished')
  })

  it.each(['GATEWAY_PORT', 'MONGODB_PORT'])(
    'says that the port of %s is taken, and how to choose another',
    async (name) => {
      await using folder = await clone()
      await using other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      const system = start(folder.path, { [name]: String(port) })
      expect(await system.exit).toBe(1)
      expect(system.lines[0]).toBe(
        `Port ${port} (${name}) on 127.0.0.1 is used by another program: stop it, or choose another port: ${name}=${port + 1000} npm start`,
      )
    },
  )

  it('gives MongoDB no port of a service', async () => {
    await using folder = await clone()
    const port = String(await stablePort())
    const same = start(folder.path, { MONGODB_PORT: port, ADMIN_PORT: port })
    expect(await same.exit).toBe(1)
    expect(same.lines[0]).toBe(`ADMIN_PORT and MONGODB_PORT are both ${port}: give each its own port`)
  })

  it.each(['the gateway', 'fulfilment', 'MongoDB'])(
    'says that %s ended, stops the others, and exits with 1',
    async (part) => {
      await using folder = await clone()
      const system = start(folder.path, part === 'MongoDB' ? {} : OTHER_MONGODB)
      await system.ready
      const running = JSON.parse(await readFile(join(folder.path, '.data', 'running.json'), 'utf8'))
      if (part === 'MongoDB') process.kill(await mongodPid(folder.path), 'SIGKILL')
      else
        await fetch(`${part === 'fulfilment' ? running.fulfilmentUrl : running.adminUrl}/crash`).catch(() => undefined)
      expect(await system.exit).toBe(1)
      expect(system.lines.join('\n')).toContain(`Stopping, because ${part} ended (exit 1)`)
      const others = ['gateway', 'fulfilment'].filter((name) => !part.endsWith(name))
      for (const name of others) expect(system.lines).toContain(`[${name}] warn stopped`)
      if (part !== 'MongoDB') expect(system.lines.join('\n')).toContain(`[${part.replace('the ', '')}] Error: crash`)
      const services = await Promise.all(['gateway', 'fulfilment'].map((name) => servicePid(folder.path, name)))
      expect(services.map(born)).toEqual([undefined, undefined])
    },
  )

  it('says so when a service refuses its settings', async () => {
    await using folder = await clone({ gateway: 'console.error("oncehook: PROVIDERS is not JSON"); process.exit(78)' })
    const system = start(folder.path, OTHER_MONGODB)
    expect(await system.exit).toBe(1)
    expect(system.lines).toContain('[gateway] oncehook: PROVIDERS is not JSON')
    expect(system.lines.join('\n')).toContain('the gateway ended (its settings are wrong)')
  })

  it('leaves no process behind when it is killed, starts again at once on its ports with its data, and stops in order', async () => {
    await using folder = await clone()
    const collect = async (lines: readonly string[], add: number): Promise<unknown[]> => {
      await using client = new MongoClient(/mongodb:\/\/\S+/.exec(lines.join('\n'))?.[0] ?? '')
      const collection = client.db('t').collection('x')
      await collection.insertOne({ n: add }, { writeConcern: { w: 'majority', journal: true } })
      return await collection.distinct('n')
    }
    const port = String(await stablePort())
    const shown = `  MongoDB       mongodb://127.0.0.1:${port}/?replicaSet=rs0`
    const killed = start(folder.path, { MONGODB_PORT: port })
    await killed.ready
    expect(killed.lines).toContain(shown)
    expect(await collect(killed.lines, 1)).toEqual([1])
    const running = JSON.parse(await readFile(join(folder.path, '.data', 'running.json'), 'utf8'))
    const services = await Promise.all(['gateway', 'fulfilment'].map((name) => servicePid(folder.path, name)))
    const mongod = await mongodPid(folder.path)
    killed.child.kill('SIGKILL')
    await killed.exit
    const next = start(folder.path, { MONGODB_PORT: port, ADMIN_PORT: new URL(running.adminUrl).port })
    await next.ready
    expect([...services, mongod].map(born)).toEqual([undefined, undefined, undefined])
    expect(next.lines).toContain(shown)
    expect(await collect(next.lines, 2)).toEqual([1, 2])

    next.child.kill('SIGINT')
    expect(await next.exit).toBe(0)
    expect(await readdir(join(folder.path, '.data'))).not.toContain('running.json')
    const [begin, ...rest] = next.lines.slice(next.lines.findIndex((line) => line.startsWith('Stopping')))
    // Steps that take over a second are announced. On a busy machine, that may be any step.
    const end = rest.filter((line) => !/ …( \d+ s)?$/.test(line))
    expect([begin, ...end]).toEqual([
      expect.stringContaining('Stopping the gateway, then fulfilment, then MongoDB'),
      '[gateway] warn stopped',
      '[fulfilment] warn stopped',
      'Stopped',
    ])
  })

  it('starts no MongoDB if MONGODB_URI is set', async () => {
    await using folder = await clone()
    await using other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    await using system = start(folder.path, { ...OTHER_MONGODB, MONGODB_PORT: String(port) })
    await system.ready
    expect(await readdir(join(folder.path, '.data'))).not.toContain('mongo')
    expect(system.lines.join('\n')).not.toContain('hidden-word')
  })
})
