import { hash, randomBytes } from 'node:crypto'
import type { ClientRequest } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { Wait } from 'testcontainers'
import { describe, expect, it } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { containerImage, TEST_LABEL } from '../support/containers/container-images.ts'
import { type ContainerNetwork, createContainerNetwork } from '../support/containers/container-network.ts'
import { LoopbackContainer } from '../support/containers/loopback-container.ts'
import { runDocker } from '../support/containers/run-docker.ts'
import { type SecureServer, sendRaw, sendSecure } from '../support/http/raw-request.ts'
import { until } from '../support/until.ts'

const FOLDER = join(import.meta.dirname, '../../docker/compose')

/** Headers in which proxies describe the caller. Callers must not set them, so none of these arrives. */
const DROPPED = [
  ...['forwarded', 'x-forwarded', 'x-forwarded-by', 'x-forwarded-client-cert', 'x-forwarded-host'],
  ...['x-forwarded-port', 'x-forwarded-prefix', 'x-forwarded-protocol', 'x-forwarded-scheme', 'x-forwarded-server'],
  ...['x-forwarded-ssl', 'x-forwarded-uri', 'x-forwarded-user', 'x-real-ip', 'true-client-ip', 'x-original-url'],
  ...['x-rewrite-url'],
] as const

/** A fake gateway: answers with the request as it arrived. */
const ECHO = `
require('node:http').createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const sha256 = require('node:crypto').hash('sha256', body)
  const { method, url, rawHeaders } = request
  console.log('reached ' + method + ' ' + url)
  response.setHeader('etag', '"7"')
  response.end(JSON.stringify({ method, url, rawHeaders, sha256, padding: 'x'.repeat(5000) }))
}).listen(8080, '0.0.0.0', () => console.log('listening'))
process.on('SIGTERM', () => process.exit(0))`

interface Echo {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly sha256: string
}

interface Parts {
  readonly image: string
  readonly network: ContainerNetwork
}

async function startEcho({ image, network }: Parts, alias = 'gateway') {
  return new LoopbackContainer(image)
    .withLabels(TEST_LABEL)
    .withNetworkMode(network.name)
    .withNetworkAliases(alias)
    .withCommand(['node', '-e', ECHO])
    .withWaitStrategy(Wait.forLogMessage(/listening/))
    .start()
}

const TRANSPORT = { 'strict-transport-security': 'max-age=31536000' }

/** Sends more requests from one address than allowed. Most are served, some are refused for now. */
async function crowd({ url, certificate }: SecureServer): Promise<void> {
  const open = (): ClientRequest => {
    const outgoing = request(`${url}/api/webhooks/acme`, { method: 'POST', agent: false, ca: certificate })
    outgoing.setHeader('content-length', 2).flushHeaders() // in progress until the body comes
    return outgoing
  }
  const statusOf = async (outgoing: ClientRequest): Promise<number> => {
    const answer = Promise.withResolvers<number>()
    outgoing.on('response', (incoming) => {
      incoming.resume()
      expect(incoming.headers).toMatchObject(incoming.statusCode === 429 ? { 'retry-after': '1', ...TRANSPORT } : {})
      answer.resolve(incoming.statusCode ?? 0)
    })
    outgoing.on('error', answer.reject)
    return answer.promise
  }
  const many = Array.from({ length: 200 }, open)
  const served = many.map(statusOf)
  for (const outgoing of many) outgoing.end('{}')
  expect(new Set(await Promise.all(served)), '200 at once').toEqual(new Set([200]))

  const tooMany = Array.from({ length: 600 }, open)
  const answers = tooMany.map(statusOf)
  // Served requests wait for their bodies. On a slow machine, one of them may time out before.
  const refused = answers.map(async (answer) => {
    const status = await answer
    if (status !== 429) throw new Error(`Answered ${status}`)
  })
  await expect(Promise.any(refused), '600 at once').resolves.toBeUndefined()
  for (const outgoing of tooMany) outgoing.destroy()
  await Promise.allSettled(answers)
}

async function startProxy({ image, network }: Parts) {
  const [port, clear] = [await stablePort(), await stablePort()]
  const url = `https://localhost:${port}`
  const started = await new LoopbackContainer(image)
    .withLabels(TEST_LABEL)
    .withNetworkMode(network.name)
    .withBindMounts([
      { source: join(FOLDER, 'nginx.conf'), target: '/etc/oncehook/nginx.conf', mode: 'ro' },
      { source: join(FOLDER, 'make-certificate.sh'), target: '/opt/make-certificate.sh', mode: 'ro' },
    ])
    .withTmpFs({ '/run/proxy': 'rw', '/own': 'rw' }) // its own certificate counts as given, so it announces https
    .withEnvironment({ PUBLIC_URL: url, SECURITY_CONTACT: 'mailto:security@shop.example', PROXY_USER: '101:101' })
    .withEntrypoint(['sh', '-c'])
    .withCommand([
      'sh /opt/make-certificate.sh && cp /run/proxy/*.pem /own && sh /opt/make-certificate.sh && echo prepared && exec nginx -e /dev/stderr -c /etc/oncehook/nginx.conf -g "daemon off;"',
    ])
    .withExposedPorts({ container: 8_443, host: port }, { container: 8_080, host: clear })
    .withWaitStrategy(Wait.forLogMessage(/prepared/))
    .start()
  const certificate = await runDocker('exec', started.getId(), 'cat', '/run/proxy/certificate.pem')
  const clearUrl = `http://127.0.0.1:${clear}`
  const answers = () => sendRaw(clearUrl, { method: 'GET', path: '/' }).then(Boolean, () => false)
  await until(answers, Boolean) // a published port takes connections before the proxy does
  return { server: { url, certificate }, clearUrl, [Symbol.asyncDispose]: async () => void (await started.stop()) }
}

describe('the proxy', () => {
  it('refuses plain HTTP, passes the address of the caller to gateways, and leaves bytes unchanged', async (context) => {
    const [nginx, node] = [await containerImage('nginx', context), await containerImage('node', context)]
    await using network = await createContainerNetwork()
    let echo = await startEcho({ image: node, network })
    await using _echo = { [Symbol.asyncDispose]: async () => void (await echo.stop()) }
    await using proxy = await startProxy({ image: nginx, network })
    const { server, clearUrl } = proxy

    // Plain HTTP.
    const page = await sendRaw(clearUrl, { method: 'GET', path: '/orders?id=1', headers: [['host', 'evil.example']] })
    expect(page).toMatchObject({ status: 308, headers: { location: `${server.url}/orders?id=1` } })
    for (const [method, path] of [
      ['POST', '/api/webhooks/acme'],
      ['GET', '/api/orders'],
      ['POST', '//api/webhooks/acme'],
      ['POST', '/%61pi/webhooks/acme'],
      ['PUT', '/'],
    ] as const) {
      const answer = await sendRaw(clearUrl, { method, path, body: Buffer.from('{}') })
      expect(answer, `${method} ${path}`).toMatchObject({ status: 403, headers: { connection: 'close' } })
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'https_required' })
    }
    expect(await runDocker('logs', echo.getId())).not.toContain('reached')

    // Over TLS: only the proxy says who called, and nobody changes bytes.
    const body = randomBytes(300_000)
    const claims = [
      ['x-forwarded-for', '203.0.113.1, 203.0.113.2'],
      ['x-forwarded-proto', 'http'],
      ...DROPPED.map((name) => [name, '203.0.113.3'] as const),
      ['x-request-id', 'caller-0001'],
      ['webhook-id', 'msg_1'],
      ['accept-encoding', 'gzip'],
    ] as const
    const answer = await sendSecure(server, { path: '/api/webhooks/acme?a=%2f&b=//', headers: claims, body })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ etag: '"7"', ...TRANSPORT })
    expect(answer.headers).not.toHaveProperty('content-encoding')
    const seen = JSON.parse(answer.body) as Echo
    expect(seen).toMatchObject({ method: 'POST', url: '/api/webhooks/acme?a=%2f&b=//' })
    expect(seen.sha256).toBe(hash('sha256', body))
    const headers = Object.groupBy(
      Array.from({ length: seen.rawHeaders.length / 2 }, (_, n) => seen.rawHeaders.slice(2 * n, 2 * n + 2)),
      ([name = '']) => name.toLowerCase(),
    )
    const valuesOf = (name: string) => headers[name]?.map(([, value]) => value)
    expect(valuesOf('x-forwarded-for')).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/)])
    expect(valuesOf('x-forwarded-for')?.[0]).not.toMatch(/^203\.0\.113\./)
    expect(valuesOf('x-forwarded-proto')).toEqual(['https'])
    expect(valuesOf('host')).toEqual([new URL(server.url).host])
    expect(valuesOf('x-request-id')).toEqual(['caller-0001'])
    expect(valuesOf('webhook-id')).toEqual(['msg_1'])
    for (const name of DROPPED) expect(valuesOf(name), name).toBeUndefined()

    // The proxy publishes where to report a vulnerability (RFC 9116), over https only.
    const told = await sendSecure(server, { method: 'GET', path: '/.well-known/security.txt' })
    expect(told).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8', ...TRANSPORT } })
    const fields = Object.fromEntries(
      told.body
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/: (.*)/, 2)),
    )
    expect(fields).toEqual({
      Contact: 'mailto:security@shop.example',
      Expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      Canonical: `${server.url}/.well-known/security.txt`,
    })
    const daysLeft = (Date.parse(fields.Expires) - Date.now()) / 86_400_000
    expect(daysLeft).toBeGreaterThan(179)
    expect(daysLeft).toBeLessThan(365)
    expect(await sendRaw(clearUrl, { method: 'GET', path: '/.well-known/security.txt' })).toMatchObject({ status: 308 })

    // The proxy's own answers have the same form as those of a gateway.
    const large = await sendSecure(server, { path: '/api/webhooks/acme', body: Buffer.alloc(2_200_000) })
    expect(large.status).toBe(413)
    expect(JSON.parse(large.body)).toMatchObject({ code: 'payload_too_large' })
    await crowd(server)
    await echo.stop()
    const away = await sendSecure(server, { path: '/api/webhooks/acme', body })
    expect(away).toMatchObject({ status: 503, headers: { 'retry-after': '5', ...TRANSPORT } })
    expect(JSON.parse(away.body)).toMatchObject({ code: 'unavailable' })

    // A gateway at another address is found without a restart.
    await using _holdsTheOldAddress = await startEcho({ image: node, network }, 'other')
    echo = await startEcho({ image: node, network })
    await until(
      async () => (await sendSecure(server, { path: '/', body })).status,
      (status) => status === 200,
    )
  })
})
