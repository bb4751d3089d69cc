import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import type { Configuration } from 'oidc-provider'

/** The audience of the issuers' access tokens. */
export const AUDIENCE = 'https://oncehook.example/operator'

/** The server of an issuer, on loopback. */
export interface IssuerServer extends AsyncDisposable {
  readonly issuer: string
  /** The requested paths, in order. */
  readonly asked: string[]
  /** From now on, answers so. Until then, with 503. */
  answerBy(listener: RequestListener): void
  /** From now on, refuses connections. */
  stop(): Promise<void>
  /** Listens again, on the same port. */
  restart(): Promise<void>
}

/** Starts the server. */
export async function startIssuerServer(): Promise<IssuerServer> {
  const asked: string[] = []
  let answer: RequestListener = (_, response) => void response.writeHead(503).end()
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '/', 'http://issuer').pathname)
    answer(request, response)
  })
  const listen = async (port: number): Promise<void> => void (await once(server.listen(port, '127.0.0.1'), 'listening'))
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    if (server.listening) await once(server.close(), 'close')
  }
  await listen(0)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The issuer listens on no port')
  const { port } = address
  return {
    ...{ issuer: `http://127.0.0.1:${port}`, asked, stop },
    answerBy(listener) {
      answer = listener
    },
    restart: () => listen(port),
    [Symbol.asyncDispose]: stop,
  }
}

/** A key that an issuer signs with (ES256). */
export async function makeSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: 'ES256', use: 'sig' }
}

/** What both issuers have: access tokens as JWT (RFC 9068) for the audience, which last for 10 minutes. */
export const FEATURES: Configuration['features'] = {
  devInteractions: { enabled: false },
  resourceIndicators: {
    enabled: true,
    getResourceServerInfo: () => ({
      ...{ scope: '', audience: AUDIENCE, accessTokenTTL: 600, accessTokenFormat: 'jwt' },
      jwt: { sign: { alg: 'ES256' } },
    }),
  },
}
