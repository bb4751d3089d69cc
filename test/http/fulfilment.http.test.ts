import { afterAll, describe, expect, it } from 'vitest'
import { expectSound, type HttpAnswer, toHttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, orderContent } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'
import { exchangeOctets, parseAnswers } from '../support/http/raw-http.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const port = Number(new URL(system.fulfilment.url).port)

/** The header that lets a call with this input pass. */
async function authorize(procedure: string, input: string, ifMatch?: string): Promise<string> {
  const [name = ''] = procedure.split('?')
  return `Bearer ${await system.fulfilment.tokens.issue({ procedure: name, input, ifMatch })}`
}

/** Sends octets to fulfilment, which ends the connection, and returns its one answer. */
async function ask(octets: string, method: string, to = port): Promise<HttpAnswer> {
  const exchange = await exchangeOctets(to, octets)
  expect(exchange.closed, 'closed by the server').toBe(true)
  const [answer, ...more] = parseAnswers(exchange.octets, [method]).map(toHttpAnswer)
  expect(more).toEqual([])
  if (answer === undefined) throw new Error('No answer')
  expect(answer.headers.date).toBeDefined()
  expect(answer.headers).not.toHaveProperty('x-powered-by')
  expect(answer.text).not.toMatch(/\bat .+:\d+:\d+|node_modules|mongodb/i)
  return answer
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  const all = { host: 'fulfilment', connection: 'close', ...headers }
  return Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

describe('a call', () => {
  it('J21 waits for a 100 only when its body is wanted', async () => {
    const { id } = await makeOrder(system)
    const body = JSON.stringify({ id, order: orderContent({ note: 'x' }) })
    const authorization = await authorize('orders.put', body)
    const expecting = { expect: '100-continue', 'content-type': 'application/json', 'content-length': '2000000' }
    const large = `POST /trpc/orders.put HTTP/1.1\r\n${linesOf({ authorization, ...expecting })}\r\n`
    expect((await ask(large, 'POST')).status).toBe(413)
    const stranger = `POST /trpc/orders.put HTTP/1.1\r\n${linesOf({ ...expecting, 'content-length': '5' })}\r\n`
    expect((await ask(stranger, 'POST')).status).toBe(401)
    const head = linesOf({ authorization, ...expecting, 'content-length': `${body.length}` })
    const { octets } = await exchangeOctets(port, `POST /trpc/orders.put HTTP/1.1\r\n${head}\r\n${body}`)
    expect(parseAnswers(octets, ['POST']).map(({ status }) => status)).toEqual([100, 200])
  })
})

describe.each([
  ['fulfilment', port],
  ['the admin listener', system.adminPort],
])('%s', (_, to) => {
  it.each([
    ['H01', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['H02', 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400],
    ['H04', 'POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['H07', 'GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['H08', 'nonsense\r\n\r\n', 400],
    ['H09', 'GET /livez HTTP/1.1\r\nHost: a\nX: b\r\n\r\n', 400],
    ['H13', 'TRACE /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 404],
    ['H13', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 501],
    ['H17', 'POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
    ['H18', 'POST /livez HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['H21', 'GET /livez HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n', 417],
    ['A04', 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 404],
    ['A01', 'PUT /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 405],
  ] as const)('%s %j is refused in the common form', async (id, octets, status) => {
    const answer = expectSound(await ask(octets, 'GET', to))
    expect(id === 'H13' ? [404, 405, 501] : [status]).toContain(answer.status)
  })
})
