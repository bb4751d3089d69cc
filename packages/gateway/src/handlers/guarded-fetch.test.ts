import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { createGuardedFetch, isPrivateAddress, isPublic, type Lookup } from './guarded-fetch.ts'

const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1')
afterAll(() => void server.close())
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo

const toThisMachine: Lookup = async () => [{ address: '127.0.0.1', family: 4 }]

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n'
const NOTHING = gzipSync('').toString('latin1').repeat(150_000)

describe('createGuardedFetch', () => {
  it.each([
    ['that is announced again and again', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20_000) + CHUNKED],
    ['whose body has pieces of one byte', `${CHUNKED}\r\n${'1\r\na\r\n'.repeat(20_000)}1\r\na`],
    [
      'whose body has many bytes that become none',
      `${CHUNKED}content-encoding: gzip\r\n\r\n${NOTHING.length.toString(16)}\r\n${NOTHING}`,
    ],
  ])('ends an answer %s', async (_, begin) => {
    await using ends = new AsyncDisposableStack()
    const flood = createNetServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(`${begin}\r\n0\r\n\r\n`, 'latin1'))
    })
    ends.defer(() => void flood.close())
    await new Promise<void>((resolve) => flood.listen(0, '127.0.0.1', resolve))
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: false })
    const answer = fetch(`http://127.0.0.1:${(flood.address() as AddressInfo).port}/`, {})
    await expect(answer.then(async (response) => (await response.text()).length)).rejects.toThrow()
  })

  it('refuses a name that leads to a private address', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: false })
    const error = await fetch(`http://shop.example:${port}/`, {}).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ cause: { code: 'EPRIVATE' } })
    expect([isPrivateAddress(error), isPrivateAddress(new TypeError('fetch failed'))]).toEqual([true, false])
  })

  it('takes an address that is written out', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: false })
    expect(await (await fetch(`http://127.0.0.1:${port}/`, {})).text()).toBe('here')
  })

  it('takes the name if the settings say that it may be private', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: true })
    expect(await (await fetch(`http://localhost:${port}/`, {})).text()).toBe('here')
  })

  it.each([true, false])(
    'shares a lookup between calls at the same time (private addresses: %s)',
    async (mayBePrivate) => {
      const asked: string[] = []
      const answered = Promise.withResolvers<void>()
      const lookup: Lookup = async (name, options) => {
        asked.push(name)
        await answered.promise
        return toThisMachine(name, options)
      }
      const fetch = createGuardedFetch({ lookup, mayBePrivate })
      const calls = Array.from({ length: 8 }, () => fetch(`http://shop.example:${port}/`, {}))
      await expect.poll(() => asked.length).toBe(1)
      answered.resolve()
      const results = await Promise.allSettled(calls)
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set([mayBePrivate ? 'fulfilled' : 'rejected']))
      expect(asked).toEqual(['shop.example'])
    },
  )

  it.each(['93.184.216.34', '2606:4700::1111'])('knows that %s is public', (address) => {
    expect(isPublic(address)).toBe(true)
  })

  it.each([
    ...['10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '127.0.0.1', '100.64.0.1', '168.63.129.16'],
    ...['::ffff:168.63.129.16', '0.0.0.0', '::1', 'fd00::1', 'fe80::1', '::ffff:10.0.0.1'],
    ...['192.0.0.170', '192.88.99.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    // An address of this network within one of IPv6.
    ...['::ffff:0:10.0.0.1', '::10.0.0.1', '::7f00:1', '64:ff9b::a00:1', '64:ff9b:1::a00:1', '2002:a00:1::'],
    ...['2001:0:0:1::1', '::', 'fec0::1', 'fc00::1', 'ff02::1', '100::1', '2001:db8::1', '3fff::1', '5f00::1'],
  ])('knows that %s is private', (address) => {
    expect(isPublic(address)).toBe(false)
  })
})
