import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { AUDIENCE, makeSigningKey } from './oidc-issuer.ts'

/** The people of an issuer, and the client that the gateway is there. */
export interface SignInIssuerOptions {
  /** The groups of each person. */
  readonly people: Readonly<Record<string, readonly string[]>>
  /** The secret of the client. Default: it has none, and is a public client. */
  readonly secret?: string
}

/** A real issuer (oidc-provider) in this process, at which people sign in with a click. */
export interface SignInIssuer extends AsyncDisposable {
  readonly issuer: string
  /** The settings of a gateway whose operators sign in here. */
  readonly settings: Readonly<Record<string, string>>
  /** The requested paths, in order. */
  readonly asked: string[]
  /** Registers the page at these origins. Call it before the first sign-in. */
  register(...origins: readonly string[]): void
  /**
   * Does what a browser does: goes to the address, where the person signs in, or refuses to (null). Resolves to the query
   * that comes back to the page, without the `?`.
   */
  answerOf(url: string, person: string | null): Promise<string>
  /** Makes a code invalid, as its end does. */
  expireCode(code: string): Promise<void>
}

const CLIENT = 'oncehook'
const INTERACTION = '/interaction/'

/** Starts the issuer on loopback. */
export async function startSignInIssuer(options: SignInIssuerOptions): Promise<SignInIssuer> {
  const asked: string[] = []
  const key = await makeSigningKey()
  let answer: RequestListener = (_, response) => void response.writeHead(503).end()
  let provider: Provider | null = null
  const server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '/', 'http://issuer').pathname)
    answer(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The issuer listens on no port')
  const issuer = `http://127.0.0.1:${address.port}`
  const register = (...origins: readonly string[]): void => {
    const created = new Provider(issuer, configure(options, { key, origins }))
    const rest = created.callback()
    provider = created
    answer = (request, response) => {
      if (request.url?.startsWith(INTERACTION)) void interact(created, { options, request, response })
      else void rest(request, response)
    }
  }
  // A gateway asks for the keys when it starts, and so before anybody knows its address.
  register(issuer)
  return {
    ...{ issuer, asked, register },
    settings: {
      ...{ OPERATOR_ISSUER: issuer, OPERATOR_AUDIENCE: AUDIENCE, OPERATOR_AUDIENCE_PARAMETER: 'resource' },
      ...{ OPERATOR_GROUPS: JSON.stringify({ 'hook-operators': ['operate'], 'hook-readers': ['read'] }) },
      ...{ OPERATOR_CLIENT_ID: CLIENT, ...(options.secret && { OPERATOR_CLIENT_SECRET: options.secret }) },
    },
    answerOf: (url, person) => followAsBrowser(url, { issuer, person }),
    async expireCode(code) {
      await (await provider?.AuthorizationCode.find(code))?.destroy()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

interface Registered {
  readonly key: JWK
  readonly origins: readonly string[]
}

function configure({ people, secret }: SignInIssuerOptions, { key, origins }: Registered): Configuration {
  const proof =
    secret === undefined
      ? ({ token_endpoint_auth_method: 'none' } as const)
      : ({ client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' } as const)
  return {
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clients: [
      {
        ...{ client_id: CLIENT, id_token_signed_response_alg: 'ES256', ...proof },
        redirect_uris: origins.map((origin) => `${origin}/sign-in`),
      },
    ],
    findAccount: (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    // Nobody is asked whether the client may know who they are.
    async loadExistingGrant(context) {
      const { provider, client, session } = context.oidc
      const grant = new provider.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' })
      grant.addOIDCScope('openid')
      grant.addResourceScope(AUDIENCE, '')
      await grant.save()
      return grant
    },
    extraTokenClaims: (_, token) => ({ groups: 'accountId' in token ? people[token.accountId] : undefined }),
    interactions: { url: (_, { uid }) => `${INTERACTION}${uid}` },
    features: {
      devInteractions: { enabled: false },
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

interface Interaction {
  readonly options: SignInIssuerOptions
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Shows a link for each person and one to refuse, or does what such a link says. */
async function interact(provider: Provider, { options, request, response }: Interaction): Promise<void> {
  const { searchParams } = new URL(request.url ?? '/', 'http://issuer')
  const person = searchParams.get('person')
  if (person !== null) {
    await provider.interactionFinished(request, response, { login: { accountId: person } })
  } else if (searchParams.has('refuse')) {
    const refusal = { error: 'access_denied', error_description: 'The person refused' }
    await provider.interactionFinished(request, response, refusal)
  } else {
    const links = Object.keys(options.people).map((name) => `<p><a href="?person=${name}">I am ${name}</a></p>`)
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
    response.end(`<!doctype html><html lang="en"><title>Issuer</title>${links.join('')}<a href="?refuse">Refuse</a>`)
  }
}

/** Follows redirects with cookies until they leave the issuer. */
async function followAsBrowser(
  start: string,
  { issuer, person }: { readonly issuer: string; readonly person: string | null },
): Promise<string> {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let steps = 0; steps < 10 && url.origin === issuer; steps += 1) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    await response.arrayBuffer()
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const shown = person === null ? '?refuse' : `?person=${person}`
    url = new URL(response.headers.get('location') ?? shown, url)
  }
  if (url.origin === issuer) throw new Error(`The issuer does not send back: ${url.pathname}`)
  return url.search.slice(1)
}
