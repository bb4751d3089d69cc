import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import { readVectorFiles } from '@oncehook/webhooks/testing/vectors'
import { afterAll, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const vector = readVectorFiles()
  .find(({ scheme }) => scheme === 'paypal')
  ?.cases.find(({ verdict }) => verdict === 'accepted')
if (vector === undefined) throw new Error('No vector')
const { headers, body, secret, now } = vector
const asked: string[] = []
const answers: Response[] = []

async function answer(url: Parameters<typeof fetch>[0]): Promise<Response> {
  asked.push(String(url))
  return answers.shift() ?? new Response('', { status: 503 })
}

const gateway = stack.use(
  await startGateway({
    database: stack.use(await testDatabase(process.env)),
    providers: {
      pal: { scheme: 'paypal', acceptShortSecret: true, secrets: [{ id: 's1', value: secret }] },
    },
    clock: { now: () => now * 1_000 },
    fetch: answer,
  }),
)

function deliver(): Promise<Response> {
  return fetch(`${gateway.url}/api/webhooks/pal`, {
    method: 'POST',
    headers: [...headers.map(([name, value]): [string, string] => [name, value]), ['content-type', 'application/json']],
    body: Buffer.from(body, 'base64'),
  })
}

it('reads the certificates of PayPal by the fetch that the gateway was given', async () => {
  const [, url] = headers.find(([name]) => name.toLowerCase() === 'paypal-cert-url') ?? []
  expect((await deliver()).status).toBe(500)
  expect(asked).toEqual([url])
  // The chain is whole, but of an authority that only tests trust.
  answers.push(new Response([PAYPAL_CHAIN.leaf, PAYPAL_CHAIN.intermediate, PAYPAL_CHAIN.root].join('\n')))
  expect((await deliver()).status).toBe(401)
  expect(asked).toEqual([url, url])
})
