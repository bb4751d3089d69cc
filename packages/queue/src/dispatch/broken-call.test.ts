import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { expect, it } from 'vitest'
import { isBrokenCall } from './retry-policy.ts'

/** The error that `fetch` throws if a server does this with each request. */
async function failureAt(answer: (end: () => void) => void, timeoutMs = 5_000): Promise<unknown> {
  const server = createServer((request) => answer(() => request.socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(timeoutMs) }).catch((error) => error)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

it('recognises a server that disappears during a call, however deep the error is', async () => {
  const cause = await failureAt((end) => end())
  expect(isBrokenCall(cause)).toBe(true)
  expect(isBrokenCall(unavailable({}, { cause: new Error('The call failed', { cause }) }))).toBe(true)
  expect(isBrokenCall(unavailable({ status: 502 }))).toBe(true)
})

it('recognises a server that does not answer in time', async () => {
  const cause = await failureAt(() => undefined, 50)
  expect(isBrokenCall(unavailable({}, { cause }))).toBe(true)
})

it('does not mistake an answer or a closed port for one', async () => {
  expect(isBrokenCall(unavailable({ status: 500 }))).toBe(false)
  const refused = await fetch('http://127.0.0.1:1/').catch((error: unknown) => error)
  expect(isBrokenCall(refused)).toBe(false)
})
