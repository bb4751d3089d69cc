import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { methodNotAllowed, notFound, payloadTooLarge } from '../error-codes.ts'
import { sendError } from './send-error.ts'

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

  it('sends a problem document with the same properties', async () => {
    const url = await serve(
      (_, response) => void sendError(response, notFound(), { requestId: REQUEST_ID, asProblem: true }),
    )
    const response = await fetch(url)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const { message, code } = notFound()
    expect(await response.json()).toEqual({
      ...{ type: 'about:blank', title: 'Not Found', status: 404, detail: message },
      ...{ error: message, code, requestId: REQUEST_ID },
    })
  })

  it('sends HEAD the headers only', async () => {
    const url = await serve((_, response) => void sendError(response, notFound(), { requestId: REQUEST_ID }))
    const response = await fetch(url, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([404, ''])
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0)
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
