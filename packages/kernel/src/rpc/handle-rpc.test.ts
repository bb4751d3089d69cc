import type { IncomingMessage, ServerResponse } from 'node:http'
import { initTRPC } from '@trpc/server'
import { resolveResponse } from '@trpc/server/http'
import { expect, it } from 'vitest'
import { payloadTooLarge, unauthenticated, unavailable, unsupportedMediaType } from '../http/error-codes.ts'
import type { AppError } from '../http/errors.ts'
import { countCpuTime } from '../testing/cpu-time.ts'
import { handleRpc } from './handle-rpc.ts'
import { formatTrpcError, toTrpcError } from './trpc-errors.ts'

const t = initTRPC.create({ isDev: false, errorFormatter: formatTrpcError })
const router = t.router({ known: t.procedure.query(() => 'x') })

/** What a caller gets whom the check of callers refuses with this error. */
async function refusalOf(error: AppError) {
  const sent = { status: 0, headers: {}, body: '' }
  const response = {
    writeHead: (status: number, headers: object) => void Object.assign(sent, { status, headers }),
    end: (body: Buffer) => void Object.assign(sent, { body: String(body) }),
  }
  const request = { method: 'POST', url: '/trpc/known', headers: { 'content-type': 'application/json' } }
  const authenticate = () => Promise.reject(error)
  const endpoint = { prefix: '/trpc/', router, authenticate, createContext: () => ({}) }
  await handleRpc(endpoint, request as unknown as IncomingMessage, response as unknown as ServerResponse)
  return sent
}

async function refusalByLibrary(error: AppError) {
  const req = new Request('http://internal/', { method: 'POST', headers: { 'content-type': 'application/json' } })
  const createContext = async () => ({})
  const answer = await resolveResponse({ router, req, path: 'known', error: toTrpcError(error), createContext })
  return { status: answer.status, vary: answer.headers.get('vary'), body: await answer.text() }
}

const REFUSALS = [
  unauthenticated({}, { headers: { 'WWW-Authenticate': 'Bearer' } }),
  payloadTooLarge({}, { headers: { Connection: 'close' } }),
  unsupportedMediaType(),
  unavailable({}, { headers: { 'Retry-After': '1' } }),
]

it.each(REFUSALS)('a refused call is answered as by the library: $code', async (error) => {
  const { headers, ...sent } = await refusalOf(error)
  const { vary, ...expected } = await refusalByLibrary(error)
  expect(sent).toEqual(expected)
  expect(headers).toMatchObject({ vary, ...error.headers, 'content-type': 'application/json; charset=utf-8' })
})

it('a refused call takes less than half of the processor time that the library needs', async () => {
  const [error] = REFUSALS as [AppError]
  const costOf = async (refuse: (error: AppError) => Promise<unknown>): Promise<number> => {
    for (let times = 0; times < 500; times += 1) await refuse(error)
    const spent = countCpuTime()
    for (let times = 0; times < 2_000; times += 1) await refuse(error)
    return spent()
  }
  expect(await costOf(refusalOf)).toBeLessThan((await costOf(refusalByLibrary)) / 2)
})
