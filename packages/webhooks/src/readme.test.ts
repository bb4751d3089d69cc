import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFetchServer } from './testing/fetch-server.ts'
import { serve } from './testing/serve.ts'
import { readVectorFiles, type Vector } from './testing/vectors.ts'

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

function firstVectorOfStripe(): Vector {
  const first = readVectorFiles().find(({ scheme }) => scheme === 'stripe')?.cases[0]
  if (first?.why !== 'signed as the provider signs') throw new Error('The first vector of Stripe has changed')
  return first
}

const vector = firstVectorOfStripe()
const body = Buffer.from(vector.body, 'base64')
const headers = Object.fromEntries([['content-type', 'application/json'], ...vector.headers])

function startAtTimeOfVector(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: vector.now * 1_000 })
  vi.stubEnv('STRIPE_WEBHOOK_SECRET', vector.secret)
}

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('the README', () => {
  it('verifies a delivery of Stripe in eight lines', async () => {
    startAtTimeOfVector()
    const log = vi.spyOn(console, 'log').mockReturnValue()
    const example = exampleOf('Verify a delivery')
    expect(example.trim().split('\n').length).toBeLessThanOrEqual(8)
    expect(await run(example, 'result.status', { rawBody: body, headers })).toBe(200)
    expect(log.mock.calls).toEqual([['payment.succeeded', 'pay_0001']])
    const tampered = Buffer.concat([body, Buffer.from(' ')])
    expect(await run(example, 'result.status', { rawBody: tampered, headers })).toBe(401)
    expect(log).toHaveBeenCalledTimes(1)
  })

  it('prepares a provider from settings that are data', async () => {
    startAtTimeOfVector()
    const secrets = [{ id: 'only', value: { env: 'STRIPE_WEBHOOK_SECRET' } }]
    vi.stubEnv('PROVIDERS', JSON.stringify({ shop: { scheme: 'stripe', secrets } }))
    expect(await run(exampleOf('Settings as data'), 'provider.secrets')).toEqual([{ id: 'only', notAfter: null }])
    vi.stubEnv('PROVIDERS', JSON.stringify({ shop: { scheme: 'stripe', secrets: [] } }))
    await expect(run(exampleOf('Settings as data'), 'provider')).rejects.toThrow('expected array')
  })

  it.each(EXAMPLES)(
    'has an example for %s that accepts a genuine delivery and refuses a tampered one',
    async (heading, start) => {
      startAtTimeOfVector()
      const log = vi.spyOn(console, 'log').mockReturnValue()
      await using server = await serve(await start(exampleOf(heading)))
      const url = `${server.url}/webhooks/stripe`
      const genuine = await fetch(url, { method: 'POST', headers, body })
      expect([genuine.status, await genuine.json()]).toEqual([200, { received: true }])
      expect(log.mock.calls).toEqual([['payment.succeeded', 'pay_0001']])
      const tampered = await fetch(url, { method: 'POST', headers, body: Buffer.concat([body, Buffer.from(' ')]) })
      expect(tampered.status).toBe(401)
      expect(log).toHaveBeenCalledTimes(1)
    },
  )
})
