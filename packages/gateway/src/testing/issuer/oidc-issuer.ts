import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { z } from 'zod'

/** The audience of the issuer's access tokens. */
export const AUDIENCE = 'https://oncehook.example/operator'

const tokenSchema = z.object({ access_token: z.string() })

/** A real issuer (oidc-provider) in this process, on loopback. */
export interface OidcIssuer extends AsyncDisposable {
  readonly issuer: string
  /** The requested paths, in order. */
  readonly asked: string[]
  /** An access token (RFC 9068) by client credentials. */
  token(client: string): Promise<string>
  /** From now on, signs with a new key and no longer names the old one. */
  rotateKeys(): Promise<void>
  /** From now on, refuses connections. */
  stop(): Promise<void>
  /** Listens again, on the same port. */
  restart(): Promise<void>
}

/**
 * Starts an issuer with one client for each entry. Its tokens have these groups; undefined: they have no such claim.
 * `claims` are further claims by client.
 */
export async function startOidcIssuer(
  clients: Readonly<Record<string, readonly string[] | undefined>>,
  claims: Readonly<Record<string, object>> = {},
): Promise<OidcIssuer> {
  const asked: string[] = []
  const secret = randomBytes(24).toString('hex')
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
  const issuer = `http://127.0.0.1:${port}`
  const rotateKeys = async (): Promise<void> => {
    answer = new Provider(issuer, configure({ clients, claims, secret, key: await makeSigningKey() })).callback()
  }
  await rotateKeys()
  return {
    ...{ issuer, asked, rotateKeys, stop },
    restart: () => listen(port),
    async token(client) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE }),
      })
      return tokenSchema.parse(await response.json()).access_token
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** A key that an issuer signs with (ES256). */
export async function makeSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: 'ES256', use: 'sig' }
}

interface IssuerOptions {
  readonly clients: Readonly<Record<string, readonly string[] | undefined>>
  readonly claims: Readonly<Record<string, object>>
  readonly secret: string
  readonly key: JWK
}

function configure({ clients, claims, secret, key }: IssuerOptions): Configuration {
  return {
    jwks: { keys: [key] },
    clients: Object.keys(clients).map((id) => ({
      ...{ client_id: id, client_secret: secret, id_token_signed_response_alg: 'ES256' },
      ...{ grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    })),
    extraTokenClaims: (_, token) => {
      const groups = clients[token.clientId ?? '']
      return { ...(groups === undefined ? {} : { groups }), ...claims[token.clientId ?? ''] }
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          ...{ scope: '', audience: AUDIENCE, accessTokenTTL: 600, accessTokenFormat: 'jwt' },
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }
}
