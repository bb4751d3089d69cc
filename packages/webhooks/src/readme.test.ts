import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFetchServer } from './testing/fetch-server.ts'
import { serve } from './testing/serve.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** The only example below a heading. */
function exampleOf(heading: string): string {
  const [, section = ''] = readme.split(`\n## ${heading}\n`)
  const [, code] = /^```ts\n(.*?)^```/ms.exec(section.split('\n## ')[0] ?? '') ?? []
  if (code === undefined) throw new Error(`README.md has no example below "${heading}"`)
  return code
}

const load = (name: string): Promise<unknown> => import(name)

/** What the first example takes for given. */
interface Given {
  readonly rawBody?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Runs an example without the line on which it listens, and returns the value of an expression at its end. */
async function run(example: string, result: string, { rawBody, headers }: Given = {}) {
  const script = example
    .replaceAll(/^import (\w+) from ('[^']+')$/gm, 'const { default: $1 } = await load($2)')
    .replaceAll(/^import (\{[^}]+\}) from ('[^']+')$/gm, 'const $1 = await load($2)')
    .replaceAll(/^export /gm, '')
    .replace(/^(?:await )?app\.listen\(.+\)$/m, '')
  const start = new Function('load', 'rawBody', 'headers', `return (async () => {\n${script}\nreturn ${result}\n})()`)
  return await start(load, rawBody, headers)
}

const EXAMPLES: readonly (readonly [heading: string, start: (example: string) => Promise<Server>])[] = [
  ['Fetch handlers', async (example) => createFetchServer(await run(example, 'POST'))],
  ['Express', async (example) => createServer(await run(example, 'app'))],
  ['Fastify', async (example) => await run(example, '(await app.ready(), app.server)')],
  ['Koa', async (example) => createServer(await run(example, 'app.callback()'))],
]

const NOW = 1_764_151_200
const SECRET = 'whsec_of_the_readme_0123456789'

/** A payment as Stripe delivers it, in live mode or in test mode. */
function paymentOf(livemode: boolean) {
  const object = { id: 'pi_1', amount: 2_000, currency: 'usd', metadata: { order_id: 'order-1' } }
  const body = Buffer.from(
    JSON.stringify({ id: 'evt_1', type: 'payment_intent.succeeded', livemode, data: { object } }),
  )
  const signature = createHmac('sha256', SECRET).update(`${NOW}.`).update(body).digest('hex')
  return { body, headers: { 'content-type': 'application/json', 'stripe-signature': `t=${NOW},v1=${signature}` } }
}

const { body, headers } = paymentOf(true)

function startAtTimeOfPayment(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1_000 })
  vi.stubEnv('STRIPE_WEBHOOK_SECRET', SECRET)
}

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('the README', () => {
  it('verifies a delivery of Stripe in eight lines', async () => {
    startAtTimeOfPayment()
    const log = vi.spyOn(console, 'log').mockReturnValue()
    const example = exampleOf('Verify a delivery')
    expect(example.trim().split('\n').length).toBeLessThanOrEqual(8)
    expect(await run(example, 'result.status', { rawBody: body, headers })).toBe(200)
    expect(log.mock.calls).toEqual([['payment.succeeded', 'pi_1']])
    const tampered = Buffer.concat([body, Buffer.from(' ')])
    expect(await run(example, 'result.status', { rawBody: tampered, headers })).toBe(401)
    expect(log).toHaveBeenCalledTimes(1)
  })

  it('prepares a provider from settings that are data', async () => {
    startAtTimeOfPayment()
    const secrets = [{ id: 'only', value: { env: 'STRIPE_WEBHOOK_SECRET' } }]
    vi.stubEnv('PROVIDERS', JSON.stringify({ shop: { scheme: 'stripe', secrets } }))
    expect(await run(exampleOf('Settings as data'), 'provider.secrets')).toEqual([{ id: 'only', notAfter: null }])
    vi.stubEnv('PROVIDERS', JSON.stringify({ shop: { scheme: 'stripe', secrets: [] } }))
    await expect(run(exampleOf('Settings as data'), 'provider')).rejects.toThrow('expected array')
  })

  it.each(EXAMPLES)(
    'has an example for %s that acts on a genuine delivery, not in test mode, and refuses a tampered one',
    async (heading, start) => {
      startAtTimeOfPayment()
      const log = vi.spyOn(console, 'log').mockReturnValue()
      await using server = await serve(await start(exampleOf(heading)))
      const url = `${server.url}/webhooks/stripe`
      const genuine = await fetch(url, { method: 'POST', headers, body })
      expect([genuine.status, await genuine.json()]).toEqual([200, { received: true }])
      expect(log.mock.calls).toEqual([['payment.succeeded', 'pi_1']])
      expect((await fetch(url, { method: 'POST', ...paymentOf(false) })).status).toBe(200)
      const tampered = await fetch(url, { method: 'POST', headers, body: Buffer.concat([body, Buffer.from(' ')]) })
      expect(tampered.status).toBe(401)
      expect(log).toHaveBeenCalledTimes(1)
    },
  )
})
