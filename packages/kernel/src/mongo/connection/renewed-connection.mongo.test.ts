import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, it } from 'vitest'
import { Secret } from '../../secret.ts'
import { memoryLogger } from '../../testing/memory-logger.ts'
import { type SecuredMongod, startSecuredMongod } from '../../testing/secured-mongod.ts'
import { createMongoConnection, type MongoOptions } from './mongo-connection.ts'
import { RenewalGroup } from './renewal-group.ts'

const PASSWORD = 'canary-9d8c7b6a5f'
const NEW_PASSWORD = 'canary-1a2b3c4d5e'

// Each takes seconds to start, so the tests share them in parallel. Each test has a separate database and user.
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const setNames = ['secured', 'other', 'secured']
const servers = await Promise.all(setNames.map((setName) => startSecuredMongod(process.env, { setName })))
for (const one of servers) stack.use(one)
const [server, ofAnotherName, ofTheSameName] = servers as [SecuredMongod, SecuredMongod, SecuredMongod]

/** A separate database for a test, with its user. */
async function ownDatabase() {
  const [database, user] = [`own_${randomBytes(4).toString('hex')}`, { name: 'service', password: PASSWORD }]
  await server.createUser(database, user)
  return { database, user, uri: server.uriOf(database, user) }
}

/** An open connection and its log, closed at the end of the scope. */
async function openConnection(
  uri: Secret,
  options: Partial<MongoOptions> = {},
  { logger, lines }: ReturnType<typeof memoryLogger> = memoryLogger(),
) {
  const database = new URL(uri.reveal()).pathname.slice(1)
  const made = createMongoConnection({ uri, database, appName: 'renewal-test', maxPoolSize: 4, logger, ...options })
  await made.open()
  const things = made.db.collection('things')
  return {
    things,
    lines,
    db: made.db,
    messages: () => lines.map(({ msg }) => msg),
    /** Writes on all connections of the pool at the same time. Returns the number of successful writes. */
    async write(): Promise<number> {
      const writes = Array.from({ length: 4 }, () => things.insertOne({}))
      return (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled').length
    },
    [Symbol.asyncDispose]: () => made.close(),
  }
}

function folder(): { readonly path: (name: string) => string } & Disposable {
  const made = mkdtempSync(join(tmpdir(), 'oncehook-address-'))
  return { path: (name) => join(made, name), [Symbol.dispose]: () => rmSync(made, { recursive: true }) }
}

/** A file with the URL of a connection. */
function uriFile() {
  const files = folder()
  const path = files.path('uri')
  return {
    write: (uri: Secret) => writeFileSync(path, uri.reveal()),
    read: () => new Secret(readFileSync(path, 'utf8')),
    [Symbol.dispose]: () => files[Symbol.dispose](),
  }
}

async function dropAndMakeAnew(database: string, password: string): Promise<void> {
  await server.db(database).command({ dropUser: 'service' })
  await server.createUser(database, { name: 'service', password })
}

describe.concurrent('a connection whose credentials change', () => {
  it('continues with a user that was dropped and created again, and logs the reason once', async ({ expect }) => {
    const { database, user, uri } = await ownDatabase()
    await using made = await openConnection(uri)
    expect(await made.write()).toBe(4)
    await server.db(database).command({ dropUser: user.name })
    for (let deliveries = 0; deliveries < 5; deliveries += 1) expect(await made.write()).toBe(0)
    await expect.poll(made.messages).toEqual(['mongodb.renewing', 'mongodb.renewal-failed'])
    await server.createUser(database, user)
    await expect.poll(made.messages).toContain('mongodb.renewed')
    expect(await made.write()).toBe(4)
    expect(made.messages()).toEqual(['mongodb.renewing', 'mongodb.renewal-failed', 'mongodb.renewed'])
    expect(made.lines).toMatchObject([{ cause: 'signed_out' }, { error: { code: 18 } }, { database }])
    expect(await made.things.find().project({ _id: 1 }).toArray()).toHaveLength(8)
    expect(JSON.stringify(made.lines)).not.toContain('canary')
  })

  it('is reported once for all connections of a service, whichever notices it and whatever changes', async ({
    expect,
  }) => {
    using file = uriFile()
    const { database, user, uri } = await ownDatabase()
    file.write(uri)
    const log = memoryLogger()
    const group = new RenewalGroup({ logger: log.logger, database })
    await using one = await openConnection(uri, { readUri: file.read, group }, log)
    await using other = await openConnection(uri, { readUri: file.read, group }, log)
    await dropAndMakeAnew(database, NEW_PASSWORD)
    for (const made of [one, other]) expect(await made.write()).toBe(0)
    await expect.poll(one.messages).toEqual(['mongodb.renewing', 'mongodb.renewal-failed'])
    file.write(server.uriOf(database, { ...user, password: NEW_PASSWORD }))
    await expect.poll(one.messages).toContain('mongodb.renewed')
    for (const made of [one, other]) expect(await made.write()).toBe(4)
    // Restores the old password in the file only, so nothing is signed out.
    await server.db(database).command({ updateUser: user.name, pwd: PASSWORD })
    file.write(uri)
    await expect.poll(one.messages).toHaveLength(5)
    expect(one.messages()).toEqual([
      ...['mongodb.renewing', 'mongodb.renewal-failed', 'mongodb.renewed'],
      ...['mongodb.renewing', 'mongodb.renewed'],
    ])
    expect(log.lines.map(({ cause }) => cause)).toEqual([
      ...['signed_out', 'signed_out', 'signed_out'],
      ...['files_changed', 'files_changed'],
    ])
  }, 60_000)

  it('is also noticed by an error of a cursor', async ({ expect }) => {
    const { database, uri } = await ownDatabase()
    await using made = await openConnection(uri)
    await dropAndMakeAnew(database, PASSWORD)
    await expect(made.things.find().project({ _id: 1 }).sort({ _id: 1 }).toArray()).rejects.toThrow('authentication')
    await expect.poll(made.messages).toContain('mongodb.renewed')
    const walk = async (): Promise<void> => {
      for await (const thing of made.db.collection('things').find()) expect(thing).toBeDefined()
    }
    await walk()
    await dropAndMakeAnew(database, PASSWORD)
    await expect(walk()).rejects.toThrow('authentication')
    await expect.poll(made.messages).toHaveLength(4)
  })

  it('follows the file of its URI, keeps the old connections until the new ones work, and interrupts nothing', async ({
    expect,
  }) => {
    using file = uriFile()
    const { database, user, uri } = await ownDatabase()
    const changed = server.uriOf(database, { ...user, password: NEW_PASSWORD })
    file.write(uri)
    await using made = await openConnection(uri, { readUri: file.read })
    await made.write()
    file.write(new Secret('mongodb://service:canary@'))
    await expect
      .poll(() => made.lines)
      .toContainEqual(
        expect.objectContaining({ msg: 'mongodb.renewal-failed', problems: ['MONGODB_URI cannot be parsed'] }),
      )
    expect(await made.write()).toBe(4)
    file.write(changed)
    await expect
      .poll(() => made.lines)
      .toContainEqual(
        expect.objectContaining({ msg: 'mongodb.renewal-failed', error: expect.objectContaining({ code: 18 }) }),
      )
    expect(await made.write()).toBe(4)
    const slow = made.things.find({ $where: 'sleep(3000) || true' }).limit(1).toArray()
    await server.db(database).command({ updateUser: user.name, pwd: NEW_PASSWORD })
    await expect.poll(made.messages, { interval: 20 }).toContain('mongodb.renewed')
    expect(await made.write()).toBe(4)
    expect(await slow).toHaveLength(1)
    expect(JSON.stringify(made.lines)).not.toContain('canary')
  }, 60_000)

  it.for([
    ['of another name', ofAnotherName],
    ['of the same name', ofTheSameName],
  ] as const)('does not switch to another replica set, %s: that needs a restart', async ([, other], { expect }) => {
    using file = uriFile()
    const { database, user, uri } = await ownDatabase()
    await other.createUser(database, user)
    file.write(uri)
    await using made = await openConnection(uri, {
      readUri: file.read,
    })
    expect(await made.write()).toBe(4)
    file.write(other.uriOf(database, user))
    const problem = 'MONGODB_URI now names a different deployment: restart to use it'
    await expect.poll(made.messages).toHaveLength(2)
    expect(made.lines[1]).toMatchObject({ msg: 'mongodb.renewal-failed', problems: [problem] })
    expect(await made.write()).toBe(4)
    expect(await server.db(database).collection('things').countDocuments()).toBe(8)
    expect(await other.db(database).listCollections().toArray()).toEqual([])
    file.write(uri)
    await expect.poll(made.messages).toContain('mongodb.renewed')
  })

  it('uses a password that is corrected while it still tries to connect', async ({ expect }) => {
    using file = uriFile()
    const { database, user, uri } = await ownDatabase()
    const wrong = server.uriOf(database, { ...user, password: NEW_PASSWORD })
    file.write(wrong)
    const log = memoryLogger()
    const opening = openConnection(wrong, { readUri: file.read }, log)
    await expect.poll(() => log.lines.map(({ msg }) => msg)).toContain('mongodb.unreachable')
    file.write(uri)
    await using made = await opening
    expect(await made.write()).toBe(4)
  })
})

/** A self-signed certificate with its key, in one file. */
function makeCertificate(file: string): void {
  const [key, certificate] = [`${file}.key`, `${file}.crt`]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', ...made, ...files, ...subject], { stdio: 'ignore' })
  writeFileSync(file, readFileSync(key, 'utf8') + readFileSync(certificate, 'utf8'))
}

/** Terminates TLS in front of a server. Its certificate can be changed, and open connections can be cut. */
async function startTlsFront(port: number, certificateFile: string) {
  const sockets = new Set<Socket>()
  const pem = (file: string) => ({ key: readFileSync(file), cert: readFileSync(file) })
  const server = createServer(pem(certificateFile), (socket: TLSSocket) => {
    const upstream = connect(port, '127.0.0.1')
    for (const one of [socket, upstream]) {
      sockets.add(one)
      one.on('error', () => undefined).on('close', () => sockets.delete(one))
    }
    socket.pipe(upstream).pipe(socket)
  }).on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const abort = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as { port: number }).port,
    abort,
    show: (file: string) => server.setSecureContext(pem(file)),
    [Symbol.asyncDispose]: async () => {
      abort()
      server.close()
    },
  }
}

describe('a connection whose TLS files change', () => {
  it('uses the new files without a restart, even if the URI stays the same', async () => {
    using files = folder()
    const { uri } = await ownDatabase()
    for (const name of ['old.pem', 'new.pem']) makeCertificate(files.path(name))
    copyFileSync(files.path('old.pem'), files.path('ca.pem'))
    const direct = new URL(uri.reveal())
    await using front = await startTlsFront(Number(direct.port), files.path('old.pem'))
    direct.port = String(front.port)
    direct.search = `?directConnection=true&tls=true&tlsCAFile=${encodeURIComponent(files.path('ca.pem'))}`
    await using made = await openConnection(new Secret(direct.href))
    expect(await made.write()).toBe(4)
    front.show(files.path('new.pem'))
    front.abort()
    expect(await made.write()).toBe(0)
    copyFileSync(files.path('new.pem'), files.path('ca.pem'))
    await expect.poll(made.messages).toContain('mongodb.renewed')
    expect(await made.write()).toBe(4)
    expect(made.lines[0]).toMatchObject({ msg: 'mongodb.renewing', cause: 'files_changed' })
  })
})
