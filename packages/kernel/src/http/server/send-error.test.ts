import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryLogger } from '../../testing/memory-logger.ts'
import { methodNotAllowed, notFound, payloadTooLarge } from '../error-codes.ts'
import { logFailure, logRefused, sendError } from './send-error.ts'

/** Serves one handler, and returns its URL. */
async function serve(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

const REQUEST_ID = 'request-1'

describe('sendError', () => {
  it('sends message, code and request id, with the headers of the error and those set before', async () => {
    const url = await serve((_, response) => {
      response.setHeader('Vary', 'Origin')
      void sendError(response, methodNotAllowed({}, { headers: { Allow: 'GET' } }), { requestId: REQUEST_ID })
    })
    const response = await fetch(url)
    expect(response.status).toBe(405)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      vary: 'Origin',
      allow: 'GET',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': REQUEST_ID,
    })
    const { message: error, code } = methodNotAllowed()
    expect(await response.json()).toEqual({ error, code, requestId: REQUEST_ID })
  })

  it.each([
    ['if the error demands it', payloadTooLarge({}, { headers: { Connection: 'close' } }), {}],
    ['if the caller demands it', notFound(), { close: true }],
  ])('closes the connection %s', async (_, error, options) => {
    const url = await serve(
      (_request, response) => void sendError(response, error, { requestId: REQUEST_ID, ...options }),
    )
    const response = await fetch(url, { method: 'POST', body: 'unread' })
    expect([response.status, response.headers.get('connection')]).toEqual([error.status, 'close'])
  })

  it('aborts a response that has started', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'Content-Length': 100 }).write('begun')
      void sendError(response, notFound(), { requestId: REQUEST_ID })
    })
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow()
  })
})

describe('the log of refused requests', () => {
  it('has 100 lines in a second, and then one for each kind with its number, whatever strangers send', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { logger, lines } = memoryLogger()
    const refuse = (error = notFound()) => logRefused(logger, { requestId: REQUEST_ID, error, method: 'GET' })
    for (let times = 0; times < 250; times += 1) refuse()
    for (let times = 0; times < 3; times += 1) refuse(methodNotAllowed())
    expect(lines).toHaveLength(100)
    vi.runAllTimers()
    const counted = { msg: 'request.refused', level: 'warn', route: 'unknown' }
    expect(lines.slice(100)).toMatchObject([
      { ...counted, status: 404, code: 'not_found', times: 150 },
      { ...counted, status: 405, code: 'method_not_allowed', times: 3 },
    ])
    refuse()
    expect(lines.at(-1)).toMatchObject({ requestId: REQUEST_ID, status: 404 })
  })

  it('calls only what no catalogue has an error', () => {
    const { logger, lines } = memoryLogger()
    expect(logFailure(logger, methodNotAllowed(), { requestId: REQUEST_ID })).toMatchObject({ status: 405 })
    expect(logFailure(logger, new TypeError('a bug'), { requestId: REQUEST_ID })).toMatchObject({ status: 500 })
    expect(lines).toMatchObject([
      { msg: 'request.refused', level: 'warn', code: 'method_not_allowed' },
      { msg: 'request.failed', level: 'error' },
    ])
  })

  it('has 100 lines in a second of an error of our own, too', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { logger, lines } = memoryLogger()
    for (let times = 0; times < 250; times += 1) logFailure(logger, new TypeError('a bug'), { requestId: REQUEST_ID })
    expect(lines).toHaveLength(100)
    // A flood of one name hides no line of another.
    logFailure(logger, methodNotAllowed(), { requestId: REQUEST_ID })
    expect(lines.pop()).toMatchObject({ msg: 'request.refused', requestId: REQUEST_ID })
    vi.runAllTimers()
    const counted = { msg: 'request.failed', level: 'error', route: 'unknown', code: 'internal', times: 150 }
    expect(lines.slice(100)).toMatchObject([counted])
  })
})
