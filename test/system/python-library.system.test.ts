import { spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { serve } from '@oncehook/webhooks/testing/serve'
import { expect, it } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'

const SCRIPT = resolve(import.meta.dirname, '../support/python/verify_calls.py')
const PROVIDER_SECRET = randomBytes(20).toString('hex')
const [first, second, foreign] = [1, 2, 3].map(() => `whsec_${randomBytes(32).toString('base64')}`) as [
  string,
  string,
  string,
]
/** Ids of events as providers could choose them. */
const IDS = ['evt_1', 'évt 50% €', 'a.b.c', 'x:y/z?&=#"\\', '💶', 'a  b', 'i'.repeat(255)]

interface Call {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The answers of Python's official library. */
async function verify(packages: string, calls: readonly (Call & { secret: string })[]): Promise<boolean[]> {
  const env = { ...process.env, PYTHONPATH: packages }
  const child = spawn('python3', [SCRIPT], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(calls))
  return JSON.parse(await text(child.stdout)) as boolean[]
}

it("each call is accepted by Python's official library, unless its body, id, time or secret is another", async (context) => {
  const packages = await requireTool('fastapi', context)
  const received = new Map<string, Call>()
  await using server = await serve(
    createServer(async (request, response) => {
      const body = await text(request)
      const headers = request.headers as Record<string, string>
      received.set(`${request.url} ${(JSON.parse(body) as { eventId: string }).eventId}`, { headers, body })
      response.writeHead(204).end()
    }),
  )
  await using database = await testDatabase(process.env)
  const handler = (path: string, values: readonly string[]) => ({
    ...{ https: `${server.url}/${path}`, events: [{ types: ['*'] }] },
    secrets: values.map((value, index) => ({ id: String(index), value })),
  })
  await using gateway = await startGateway({
    database,
    providers: {
      shop: { scheme: 'hmac', header: 'x-signature', effects: [], secrets: [{ id: '1', value: PROVIDER_SECRET }] },
    },
    settings: { HANDLERS: JSON.stringify({ one: handler('one', [first]), two: handler('two', [second, first]) }) },
  })
  for (const id of IDS) {
    const body = JSON.stringify({ id, type: 'bäckerei.geöffnet', data: { object: { id: 'ö', price: '3 €' } } })
    const signature = createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex')
    const headers = { 'content-type': 'application/json', 'x-signature': signature }
    const { status } = await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', headers, body })
    expect([id, status]).toEqual([id, 200])
  }
  await expect.poll(() => received.size).toBe(IDS.length * 2)

  const calls = [...received.values()]
  expect(
    await verify(
      packages,
      calls.map((call) => ({ ...call, secret: first })),
    ),
  ).toEqual(calls.map(() => true))
  const bySecond = [...received].map(([name, call]) => ({ ...call, secret: second, isTwo: name.startsWith('/two') }))
  expect(await verify(packages, bySecond)).toEqual(bySecond.map(({ isTwo }) => isTwo))

  const changed = calls.flatMap(({ headers, body }) => {
    const changedHeader = (name: string, value: string) => ({ body, headers: { ...headers, [name]: value } })
    const time = Number(headers['webhook-timestamp'])
    return [
      { headers, body: body.replace('3 €', '4 €') },
      { headers, body: `${body} ` },
      changedHeader('webhook-id', `${headers['webhook-id']}x`),
      changedHeader('webhook-timestamp', String(time + 1)),
      changedHeader('webhook-timestamp', String(time - 3_600)),
    ]
  })
  const others = [
    ...changed.map((call) => ({ ...call, secret: first })),
    ...calls.map((call) => ({ ...call, secret: foreign })),
  ]
  expect(await verify(packages, others)).toEqual(others.map(() => false))
})
