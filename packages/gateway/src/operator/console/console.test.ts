import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerOperators } from '../../start/operator-api.ts'
import { createAdminApp } from '../../start/private-listener.ts'
import { type ConsoleFiles, readConsole } from './console.ts'

const SCRIPT = 'export const filler = 1\n'.repeat(200)
const INDEX_TEXT = `<!doctype html><title>The page</title>${'<p>'.repeat(200)}`
const { logger, lines } = memoryLogger()
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
let folder = ''
let port = 0
let portWithout = 0

async function serve(console: ConsoleFiles | null): Promise<number> {
  const never = () => Promise.reject(new Error('not under test'))
  const operators = answerOperators({ api: never, exchangeCode: never, signInAtIssuer: never, console })
  const app = createAdminApp({ probes: async () => false, logger, operators: () => operators })
  const server = stack.use(createServer(app).listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncehook-console-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const dist = join(folder, 'dist')
  await mkdir(join(dist, 'assets'), { recursive: true })
  await writeFile(join(dist, 'index.html'), INDEX_TEXT)
  await writeFile(join(dist, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(join(dist, 'assets', 'index-1a2b3c.js'), SCRIPT)
  await writeFile(join(dist, 'assets', 'notes.secret'), 'of no known type')
  await writeFile(join(folder, 'outside.txt'), 'outside')
  await symlink(join(folder, 'outside.txt'), join(dist, 'linked.txt'))
  port = await serve(await readConsole(dist))
  portWithout = await serve(null)
})

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly bytes: Buffer
}

/** Sends a path as it is written: a client of higher level would shorten it. */
async function ask(path: string, init: { method?: string; headers?: object; port?: number } = {}): Promise<Answer> {
  const { method = 'GET', headers = {} } = init
  const call = request({ host: '127.0.0.1', port: init.port ?? port, path, method, headers: { ...headers } }).end()
  const [response] = await once(call, 'response')
  const bytes = Buffer.concat(await response.toArray())
  return { status: response.statusCode, headers: response.headers, body: String(bytes), bytes }
}

const PAGES = ['/', '/events', '/events/65f0?tab=raw', '/refused', '/replays/1', '/providers', '/receipts', '/audit']

describe("the operator's page", () => {
  it.each([...PAGES, '/sessions', '/sign-in'])('is the answer of %s', async (path) => {
    const { status, headers, body } = await ask(path)
    expect({ status, body }).toEqual({ status: 200, body: INDEX_TEXT })
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' })
  })

  it('has files that a browser never needs to request again', async () => {
    const { status, headers, body } = await ask('/assets/index-1a2b3c.js')
    expect({ status, body }).toEqual({ status: 200, body: SCRIPT })
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'max-age=31536000, immutable',
    })
    expect((await ask('/favicon.svg')).headers).toMatchObject({
      ...{ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' },
    })
  })

  it('is sent again only if it has changed', async () => {
    const { etag } = (await ask('/')).headers
    const again = await ask('/events', { headers: { 'if-none-match': etag } })
    expect(again).toMatchObject({ status: 304, body: '' })
    expect(again.headers).toMatchObject({ etag, 'cache-control': 'no-cache' })
    expect((await ask('/', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  it('answers HEAD as GET, without the body', async () => {
    const [get, head] = await Promise.all([ask('/'), ask('/', { method: 'HEAD' })])
    expect(head).toMatchObject({ status: 200, body: '' })
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })

  it.each([
    ['gzip, deflate, br', 'gzip'],
    ['br;q=1, gzip;q=0.5', 'gzip'],
    ['gzip;q=0', undefined],
    ['identity', undefined],
  ])('is compressed for a client that takes it: %s', async (accepted, coding) => {
    const { headers, bytes } = await ask('/assets/index-1a2b3c.js', { headers: { 'accept-encoding': accepted } })
    expect(headers['content-encoding']).toBe(coding)
    expect(headers.vary).toBe('Accept-Encoding')
    expect(String(coding === undefined ? bytes : gunzipSync(bytes))).toBe(SCRIPT)
  })

  it.each(['POST', 'PUT', 'DELETE'])('refuses %s', async (method) => {
    const { status, headers } = await ask('/events', { method })
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD' })
  })

  it('does not exist if it is not built', async () => {
    const { status, body } = await ask('/', { port: portWithout })
    expect({ status, body: JSON.parse(body) }).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})

describe('a file outside of the page', () => {
  it.each([
    ...['/../outside.txt', '/assets/../../outside.txt', '/assets/..%2f..%2foutside.txt', '/%2e%2e/outside.txt'],
    ...['//outside.txt', '/linked.txt', '/assets/notes.secret', '/assets/', '/assets', '/index.html/', '/__proto__'],
    ...['/constructor'],
  ])('is never the answer: %s', async (path) => {
    expect((await ask(path)).status).toBe(404)
  })

  it('makes the folder unusable if it is too large, and so does a missing index', async () => {
    await expect(readConsole(join(folder, 'nothing'))).rejects.toThrow('ENOENT')
    await expect(readConsole(join(folder, 'dist', 'assets'))).rejects.toThrow('has no index.html')
    await writeFile(join(folder, 'dist', 'large.css'), Buffer.alloc(17_000_000))
    stack.defer(() => rm(join(folder, 'dist', 'large.css')))
    await expect(readConsole(join(folder, 'dist'))).rejects.toThrow('too large')
  })
})

describe('the headers of the private listener', () => {
  it('forbid foreign code and frames, whatever the answer is', async () => {
    const { etag } = (await ask('/')).headers
    const answers = await Promise.all([
      ask('/'),
      ask('/', { method: 'HEAD' }),
      ask('/', { headers: { 'if-none-match': etag } }),
      ask('/', { headers: { 'if-none-match': 'not a tag' } }),
      ask('/', { method: 'POST' }),
      ask('/', { port: portWithout }),
      ask('/assets/index-1a2b3c.js'),
      ask('/nothing'),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 304, 400, 405, 404, 200, 404])
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        'cross-origin-embedder-policy': 'require-corp',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
    }
  })
})

describe('a stranger who sends nonsense to the page', () => {
  it.each([
    ['another method', { method: 'POST' }, 405],
    ['entity tags that are not closed', { headers: { 'if-none-match': '"a' } }, 400],
  ])('gets an answer, and writes no line of an error: %s', async (_, init, status) => {
    const before = lines.length
    expect((await ask('/', init)).status).toBe(status)
    expect(lines.slice(before)).toMatchObject([{ msg: 'request.refused', level: 'warn', status }])
  })
})
