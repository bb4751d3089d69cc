import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The answer of a provider's API under a path: a status with a body, which is JSON unless it is text. */
export type ApiAnswers = Readonly<Record<string, readonly [status: number, body: unknown, headers?: object]>>

/** An API of a provider on a port of this machine. */
export interface ServedApi extends AsyncDisposable {
  readonly baseUrl: string
  /** The requests that came, in order. */
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
}

/** Serves answers over HTTP; 404 everywhere else. */
export async function serveApi(answers: ApiAnswers): Promise<ServedApi> {
  const requests: ServedApi['requests'] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push({ path, headers: request.headers })
    const [status, body, headers = {}] = answers[path] ?? [404, {}]
    const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    response.writeHead(status, { ...headers }).end(sent)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
