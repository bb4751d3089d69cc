import { randomBytes } from 'node:crypto'
import type { JWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { z } from 'zod'
import { AUDIENCE, FEATURES, type IssuerServer, makeSigningKey, startIssuerServer } from './issuer-server.ts'

const tokenSchema = z.object({ access_token: z.string() })

/** A real issuer (oidc-provider) in this process, on loopback. */
export interface OidcIssuer extends Omit<IssuerServer, 'answerBy'> {
  /** An access token (RFC 9068) by client credentials. */
  token(client: string): Promise<string>
  /** From now on, signs with a new key and no longer names the old one. */
  rotateKeys(): Promise<void>
}

/**
 * Starts an issuer with one client for each entry. Its tokens have these groups; undefined: they have no such claim.
 * `claims` are further claims by client.
 */
export async function startOidcIssuer(
  clients: Readonly<Record<string, readonly string[] | undefined>>,
  claims: Readonly<Record<string, object>> = {},
): Promise<OidcIssuer> {
  const secret = randomBytes(24).toString('hex')
  const { answerBy, ...server } = await startIssuerServer()
  const { issuer } = server
  const rotateKeys = async (): Promise<void> => {
    answerBy(new Provider(issuer, configure({ clients, claims, secret, key: await makeSigningKey() })).callback())
  }
  await rotateKeys()
  return {
    ...server,
    rotateKeys,
    async token(client) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE }),
      })
      return tokenSchema.parse(await response.json()).access_token
    },
  }
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
    features: { ...FEATURES, clientCredentials: { enabled: true } },
  }
}
