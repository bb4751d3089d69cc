import { describe, expect, it } from 'vitest'
import { runDocker } from '../support/containers/run-docker.ts'
import { type SecureServer, sendRaw, sendSecure } from '../support/http/raw-request.ts'
import { signedDelivery } from '../support/http/signed-delivery.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { until } from '../support/until.ts'
import { ComposeProject } from './compose-project.ts'

const LONG_MS = 420_000
const ORDER = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'book', quantity: 2, unitAmount: 1_000 }] }

/** A client of the orders API behind the proxy, with the token that was made for it. */
class Customer {
  readonly #server: SecureServer
  readonly #token: string

  constructor(server: SecureServer, token: string) {
    this.#server = server
    this.#token = token
  }

  static async of(project: ComposeProject): Promise<Customer> {
    const tokens = JSON.parse(await project.read('gateway', '/run/secrets/api-tokens.json')) as { dev: string }
    return new Customer(await project.server(), tokens.dev)
  }

  async order(): Promise<ApiOrder> {
    const headers = [...this.#headers(), ['content-type', 'application/json']] as const
    const body = Buffer.from(JSON.stringify(ORDER))
    // Fulfilment may start a moment after the proxy; callers are then asked to retry.
    const answer = await until(
      () => sendSecure(this.#server, { path: '/api/orders', headers, body }),
      ({ status }) => status !== 503,
    )
    expect(answer.status, answer.body).toBe(201)
    return JSON.parse(answer.body) as ApiOrder
  }

  async read(id: string): Promise<ApiOrder> {
    const answer = await sendSecure(this.#server, {
      method: 'GET',
      path: `/api/orders/${id}`,
      headers: this.#headers(),
    })
    expect(answer.status, answer.body).toBe(200)
    return JSON.parse(answer.body) as ApiOrder
  }

  #headers(): [string, string][] {
    return [['authorization', `Bearer ${this.#token}`]]
  }
}

function paymentOf(orderId: string, secret: string) {
  const data = { object: { id: `pay_${orderId}`, orderId, amount: 2_000, currency: 'eur' } }
  const body = Buffer.from(JSON.stringify({ id: `evt_${orderId}`, type: 'payment.succeeded', data }))
  return signedDelivery({ body, secret, messageId: `msg_${orderId}` })
}

/** An order that is made and paid through the proxy. */
async function payOrder(project: ComposeProject): Promise<ApiOrder> {
  const customer = await Customer.of(project)
  const { id } = await customer.order()
  const payment = paymentOf(id, await project.read('gateway', '/run/secrets/acme'))
  expect(await sendSecure(await project.server(), payment)).toMatchObject({ status: 200, body: '{"received":true}' })
  return until(
    () => customer.read(id),
    ({ status }) => status === 'paid',
  )
}

/** The part of the output of `docker inspect` that is used here. */
interface Container {
  readonly Config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> }
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean
    readonly CapDrop: readonly string[] | null
    readonly CapAdd: readonly string[] | null
    readonly SecurityOpt: readonly string[] | null
    readonly Memory: number
    readonly PidsLimit: number
    readonly RestartPolicy: { readonly Name: string }
    readonly PortBindings: Readonly<Record<string, readonly { HostIp: string }[]>> | null
  }
}

const LASTING = ['mongo1', 'mongo2', 'mongo3', 'fulfilment', 'gateway', 'proxy'] as const

/** The database's answer to a service that it must refuse, with the URL of that service's user. */
const INTRUDE = `
const { MongoClient } = require('mongodb')
const client = new MongoClient(require('fs').readFileSync('/run/secrets/mongodb-uri', 'utf8'))
const [own, other] = process.argv.slice(1)
const attempts = {
  own: () => client.db(own).collection('probes').findOne(),
  read: () => client.db(other).collection('orders').findOne(),
  write: () => client.db(other).collection('events').insertOne({}),
  user: () => client.db('admin').command({ createUser: 'x', pwd: 'y', roles: [] }),
  configuration: () => client.db('admin').command({ replSetGetConfig: 1 }),
}
const answers = {}
;(async () => {
  for (const [name, attempt] of Object.entries(attempts))
    answers[name] = await attempt().then(() => 'done', ({ code }) => code)
  console.log(JSON.stringify(answers))
  process.exit()
})()`
const UNAUTHORIZED = 13

async function intrude(project: ComposeProject, { from, to }: { from: string; to: string }): Promise<unknown> {
  const [container = ''] = await project.containers(from)
  return JSON.parse(
    await runDocker('exec', container, 'node', '-e', INTRUDE, `oncehook_${from}`, `oncehook_${to}`),
  ) as unknown
}

async function askForHealth(server: SecureServer): Promise<number[]> {
  const asks = Array.from({ length: 20 }, () => sendSecure(server, { method: 'GET', path: '/healthz' }))
  return (await Promise.all(asks)).map(({ status }) => status)
}

describe('the compose file', { timeout: LONG_MS }, () => {
  it('starts two gateways and two fulfilments on three nodes, behind TLS, each with only the rights that it needs', async (context) => {
    const own = {
      'providers.json': JSON.stringify({
        acme: {
          scheme: 'standard-webhooks',
          effects: ['payment.succeeded', 'payment.failed'],
          secrets: [{ id: 'own', value: { file: '/run/secrets/providers/acme' } }],
        },
      }),
      'providers/acme': `whsec_${Buffer.from('a secret that its owner has made').toString('base64')}`,
    }
    await using project = await ComposeProject.prepare(context, { own })
    await project.up()
    const server = await project.server()

    const ids = await Promise.all(LASTING.map((service) => project.containers(service)))
    expect(ids.map(({ length }) => length)).toEqual([1, 1, 1, 2, 2, 1])
    const containers = JSON.parse(await runDocker('inspect', ...ids.flat())) as Container[]
    for (const { Config, HostConfig } of containers) {
      const service = Config.Labels['com.docker.compose.service']
      expect(Config.User, service).toMatch(/^[1-9]\d*:[1-9]\d*$/)
      expect(HostConfig, service).toMatchObject({
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        RestartPolicy: { Name: 'unless-stopped' },
      })
      expect(HostConfig.CapAdd ?? [], service).toEqual([])
      expect(HostConfig.Memory, service).toBeGreaterThan(0)
      expect(HostConfig.PidsLimit, service).toBeGreaterThan(0)
      if (service === 'gateway' || service === 'fulfilment') expect(HostConfig.Memory).toBe(256 * 1024 ** 2)
      const published = Object.keys(HostConfig.PortBindings ?? {}).toSorted()
      expect(published, service).toEqual(service === 'proxy' ? ['8080/tcp', '8443/tcp'] : [])
    }

    const customer = await Customer.of(project)
    const { id } = await customer.order()
    const secret = own['providers/acme']
    const inTheClear = await sendRaw(project.clearUrl, paymentOf(id, secret))
    expect(inTheClear).toMatchObject({ status: 403, body: expect.stringContaining('https_required') })
    expect(await customer.read(id)).toMatchObject({ status: 'pending' })
    expect(await sendSecure(server, paymentOf(id, secret))).toMatchObject({ status: 200 })
    await until(
      () => customer.read(id),
      ({ status }) => status === 'paid',
    )

    const refused = {
      own: 'done',
      read: UNAUTHORIZED,
      write: UNAUTHORIZED,
      user: UNAUTHORIZED,
      configuration: UNAUTHORIZED,
    }
    expect(await intrude(project, { from: 'gateway', to: 'fulfilment' })).toEqual(refused)
    expect(await intrude(project, { from: 'fulfilment', to: 'gateway' })).toEqual(refused)

    const [proxy = ''] = await project.containers('proxy')
    const reach = (address: string) => runDocker('exec', proxy, 'bash', '-c', `exec 3<>/dev/tcp/${address}`)
    await reach('gateway/8080')
    for (const address of ['fulfilment/8090', 'mongo1/27017']) await expect(reach(address), address).rejects.toThrow()

    expect(await askForHealth(server)).toEqual(Array(20).fill(200))
    const log = await runDocker('logs', proxy)
    expect(new Set(log.match(/(?<="upstream":")[\d.]+/g))).toHaveProperty('size', 2)
    const [first = ''] = await project.containers('gateway')
    await runDocker('stop', '--time', '20', first)
    expect(await runDocker('inspect', '--format', '{{.State.ExitCode}}', first)).toBe('0')
    expect(await askForHealth(server), 'with one gateway left').toEqual(Array(20).fill(200))
  })

  it('starts on one small machine, and finds its secrets and its data again', async (context) => {
    await using project = await ComposeProject.prepare(context, { overrides: ['compose.small.yaml'] })
    await project.up()
    const { id } = await payOrder(project)
    const before = await Customer.of(project)
    const ids = await Promise.all(LASTING.map((service) => project.containers(service)))
    expect(ids.map(({ length }) => length)).toEqual([1, 0, 0, 1, 1, 1])

    await project.down()
    await project.up()
    expect(await before.read(id)).toMatchObject({ status: 'paid', access: 'unlocked' })
    const [gateway = ''] = await project.containers('gateway')
    await until(
      () => runDocker('inspect', '--format', '{{.State.Health.Status}}', gateway),
      (health) => health === 'healthy',
    )
    const sent = await project.compose('run', '--rm', 'simulator', 'send', ...SIMULATOR)
    expect(sent).toContain('All 3 orders are paid')
  })
})

const SIMULATOR = [
  '--url=https://proxy:8443',
  '--provider=acme',
  '--scheme=standard-webhooks',
  '--secret-file=/run/secrets/acme',
  '--token-file=/run/secrets/api-token',
  '--count=3',
]
