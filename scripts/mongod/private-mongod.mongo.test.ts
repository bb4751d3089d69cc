import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { findMongod } from './find-mongod.ts'
import { type PrivateMongodOptions, startPrivateMongod } from './private-mongod.ts'

const find = () => findMongod({ env: process.env, say: () => undefined })

async function dataFolder(): Promise<PrivateMongodOptions & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-private-'))
  return {
    dbPath: join(path, 'mongo'),
    portFile: join(path, 'mongo.port'),
    logFile: join(path, 'mongod.log'),
    find,
    signal: new AbortController().signal,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

async function start(options: PrivateMongodOptions) {
  const server = await startPrivateMongod(options)
  return { ...server, [Symbol.asyncDispose]: async () => void (await server.stop(10_000)) }
}

/** A program other than mongod, on a port that a parallel test may use for a while. */
async function listenOnceFree(port: number) {
  for (;;) {
    const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
    const listening = await once(server, 'listening').catch((error) => error)
    if (!(listening instanceof Error)) return server
    await sleep(100)
  }
}

async function numbers(uri: string, add?: number): Promise<unknown[]> {
  await using client = new MongoClient(uri)
  const collection = client.db('t').collection<{ n: number }>('x')
  if (add !== undefined) await collection.insertOne({ n: add }, { writeConcern: { w: 'majority', journal: true } })
  return (await collection.find().toArray()).map(({ n }) => n)
}

describe('startPrivateMongod', { timeout: 60_000 }, () => {
  it('keeps its data from one start to the next', async () => {
    await using options = await dataFolder()
    const first = await startPrivateMongod(options)
    await numbers(first.uri, 1)
    expect(await first.stop(10_000)).toBe(true)
    await using second = await start(options)
    expect(await numbers(second.uri)).toEqual([1])
    expect(second.adopted).toBe(false)
  })

  it('adopts the server that a killed starter left behind', async () => {
    await using options = await dataFolder()
    await using left = await start(options)
    const adopted = await startPrivateMongod({ ...options, find: () => Promise.reject(new Error('not needed')) })
    expect(adopted).toMatchObject({ pid: left.pid, uri: left.uri, adopted: true })
  })

  it('moves to another port with its data when the old one is taken', async () => {
    await using options = await dataFolder()
    const first = await startPrivateMongod(options)
    await numbers(first.uri, 1)
    await first.stop(10_000)
    await using _other = await listenOnceFree(Number(await readFile(options.portFile, 'utf8')))
    await using second = await start(options)
    expect(second.uri).not.toBe(first.uri)
    expect(await numbers(second.uri)).toEqual([1])
  })

  it('starts a separate server for each of several at the same moment', async () => {
    await using one = await dataFolder()
    await using two = await dataFolder()
    const starting = [start(one), start(two)] as const
    await using first = await starting[0]
    await using second = await starting[1]
    expect(first.pid).not.toBe(second.pid)
    expect(await numbers(first.uri, 1)).toEqual([1])
    expect(await numbers(second.uri, 2)).toEqual([2])
  })

  it('says why when the server ends instead of becoming ready', async () => {
    await using options = await dataFolder()
    await using _running = await start(options)
    const portFile = `${options.portFile}.other`
    await writeFile(portFile, '27317')
    const second = startPrivateMongod({ ...options, portFile, logFile: `${options.logFile}.other` })
    await expect(second).rejects.toThrow(/^mongod ended with 100 on .*in use by another mongod/)
  })

  it('leaves no server behind when the start is called off', async () => {
    await using options = await dataFolder()
    const calledOff = new AbortController()
    const beginning = startPrivateMongod({ ...options, signal: calledOff.signal })
    setTimeout(() => calledOff.abort(new Error('called off')), 50)
    await expect(beginning).rejects.toThrow('called off')
    await using next = await start(options)
    expect(next.adopted).toBe(false)
  })
})
