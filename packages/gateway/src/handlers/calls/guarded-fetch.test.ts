import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { createGuardedFetch, isPublic, type Lookup } from './guarded-fetch.ts'

const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1')
afterAll(() => void server.close())
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo

const toThisMachine: Lookup = async () => [{ address: '127.0.0.1', family: 4 }]

describe('createGuardedFetch', () => {
  it('refuses a name that leads to a private address', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: false })
    const error = await fetch(`http://shop.example:${port}/`, {}).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ cause: { code: 'EPRIVATE' } })
  })

  it('takes an address that is written out', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: false })
    expect(await (await fetch(`http://127.0.0.1:${port}/`, {})).text()).toBe('here')
  })

  it('takes the name if the settings say that it may be private', async () => {
    const fetch = createGuardedFetch({ lookup: toThisMachine, mayBePrivate: true })
    expect(await (await fetch(`http://localhost:${port}/`, {})).text()).toBe('here')
  })

  it.each([
    ['93.184.216.34', true],
    ['2606:4700::1111', true],
    ['10.1.2.3', false],
    ['172.16.0.1', false],
    ['192.168.1.1', false],
    ['169.254.169.254', false],
    ['127.0.0.1', false],
    ['100.64.0.1', false],
    ['0.0.0.0', false],
    ['::1', false],
    ['fd00::1', false],
    ['fe80::1', false],
    ['::ffff:10.0.0.1', false],
  ])('knows whether %s is public: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected)
  })
})
