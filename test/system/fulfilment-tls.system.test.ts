import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createTestAuthority } from '@oncehook/kernel/testing/certificates/issue-certificate'
import { afterAll, describe, expect, it } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'

const HOSTS = ['127.0.0.1', 'localhost']
const CALL = '/trpc/orders.list?input=%7B%7D'
const NO_CERTIFICATE = 'A trusted client certificate is required'
const NO_TOKEN = 'A valid token is required'

type Service = 'gateway' | 'fulfilment'
/** Files by the names of their settings, without the common prefix. */
type Files = Readonly<Partial<Record<'CERT' | 'KEY' | 'CLIENT_CA' | 'CA' | 'CLIENT_CERT' | 'CLIENT_KEY', string>>>

async function ofServer(by = authority): Promise<Files> {
  const { cert, key } = await by.issue('fulfilment', HOSTS)
  return { CERT: cert, KEY: key }
}

async function ofClient(by = authority): Promise<Files> {
  const { cert, key } = await by.issue('gateway')
  return { CLIENT_CERT: cert, CLIENT_KEY: key }
}

const authority = await createTestAuthority('the first authority')

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

/** A stack whose services use https with files that can be replaced. */
async function startSecured() {
  const files: Readonly<Record<Service, Files>> = {
    fulfilment: { ...(await ofServer()), CLIENT_CA: authority.ca },
    gateway: { CA: authority.ca, ...(await ofClient()) },
  }
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-tls-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const fileOf = (service: Service, name: string): string => join(folder, `${service}-${name}`)
  const write = async (service: Service, written: Files): Promise<void> => {
    for (const [name, content] of Object.entries(written)) await writeFile(fileOf(service, name), content)
  }
  const settingsOf = (service: Service) =>
    Object.fromEntries(
      Object.keys(files[service]).map((name) => [`FULFILMENT_TLS_${name}_FILE`, fileOf(service, name)]),
    )
  await write('gateway', files.gateway)
  await write('fulfilment', files.fulfilment)
  const port = await stablePort()
  const stack = resources.use(
    await startStack({
      gateway: { ...settingsOf('gateway'), FULFILMENT_URL: `https://127.0.0.1:${port}` },
      fulfilment: { ...settingsOf('fulfilment'), FULFILMENT_PORT: String(port) },
    }),
  )
  return { stack, port, write }
}

/** Requests a path of fulfilment. With `body`, the request is a call. */
async function ask(port: number, path: string, agent: Agent): Promise<{ status: number | undefined; body: string }> {
  const asking = request({ host: '127.0.0.1', port, path, agent })
  asking.end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await text(response) }
}

async function payOneOrder(stack: Stack): Promise<void> {
  const order = await stack.orders.create()
  expect((await stack.deliver(paymentOf(order))).status).toBe(200)
  await stack.orders.untilStatus(order.id, 'paid')
}

describe('fulfilment with TLS', () => {
  it('requires a client certificate of its authority for calls, not for probes, and the gateway sends one', async () => {
    const { stack, port } = await startSecured()
    await stack.untilReady()
    await payOneOrder(stack)

    const agentOf = (options: object) =>
      resources.adopt(new Agent({ ca: authority.ca, ...options }), (one) => one.destroy())
    const refused = { status: 401, body: expect.stringContaining(NO_CERTIFICATE) }
    const bare = agentOf({})
    expect(await ask(port, CALL, bare)).toEqual(refused)
    for (const name of ['another', 'the first authority']) {
      const stranger = await createTestAuthority(name)
      expect(await ask(port, CALL, agentOf(await stranger.issue('gateway')))).toEqual(refused)
    }
    // With a certificate, only the token is missing.
    const { body } = await ask(port, CALL, agentOf(await authority.issue('gateway')))
    expect(JSON.parse(body)).toMatchObject({ error: { message: NO_TOKEN } })
    for (const probe of ['/livez', '/readyz', '/metrics']) expect((await ask(port, probe, bare)).status).toBe(200)
    await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow()
    await expect(fetch(`https://127.0.0.1:${port}/livez`)).rejects.toThrow('fetch failed')
    const old = agentOf({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
    await expect(ask(port, '/livez', old)).rejects.toThrow(/alert protocol version/)
  })

  it('changes certificates and authorities without a restart and without a refused call', async () => {
    const { stack, port, write } = await startSecured()
    await stack.untilReady()
    const { id } = await stack.orders.create()
    const statuses = new Set<number>()
    let changing = true
    const callOn = async (): Promise<void> => {
      while (changing) statuses.add((await stack.orders.send(`/${id}`)).status)
    }
    const caller = callOn()
    const change = async (service: Service, files: Files): Promise<void> => {
      const before = stack[service].countOf('tls.changed')
      await write(service, files)
      await expect.poll(() => stack[service].countOf('tls.changed')).toBeGreaterThan(before)
    }
    const next = await createTestAuthority('the next authority')
    const both = authority.ca + next.ca
    const held = resources.adopt(
      new Agent({ keepAlive: true, maxSockets: 1, ca: both, ...(await authority.issue('held')) }),
      (agent) => agent.destroy(),
    )
    const reasonOf = async (): Promise<string> => JSON.parse((await ask(port, CALL, held)).body).error.message
    expect(await reasonOf()).toBe(NO_TOKEN)

    await change('fulfilment', { CLIENT_CA: both })
    await change('gateway', { CA: both })
    await change('gateway', await ofClient(next))
    await change('fulfilment', await ofServer(next))
    await change('fulfilment', { CLIENT_CA: next.ca })
    await change('gateway', { CA: next.ca })
    // The connection was opened before. It ends with this answer.
    await reasonOf()
    expect(await reasonOf()).toBe(NO_CERTIFICATE)
    await payOneOrder(stack)
    changing = false
    await caller
    expect([...statuses]).toEqual([200])

    await write('fulfilment', { CERT: 'canary' })
    await expect.poll(() => stack.fulfilment.countOf('tls.refused')).toBeGreaterThan(0)
    await payOneOrder(stack)
  })
})
