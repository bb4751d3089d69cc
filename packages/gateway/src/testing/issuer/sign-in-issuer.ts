import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { AUDIENCE, FEATURES, type IssuerServer, makeSigningKey, startIssuerServer } from './issuer-server.ts'

/** The people of an issuer, and the client that the gateway is there. */
export interface SignInIssuerOptions {
  /** The groups of each person. */
  readonly people: Readonly<Record<string, readonly string[]>>
  /** The secret of the client. Default: it has none, and is a public client. */
  readonly secret?: string
}

/** A real issuer (oidc-provider) in this process, at which people sign in with a click. */
export interface SignInIssuer extends Omit<IssuerServer, 'answerBy'> {
  /** The settings of a gateway whose operators sign in here. */
  readonly settings: Readonly<Record<string, string>>
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
  const { answerBy, ...server } = await startIssuerServer()
  const { issuer } = server
  const key = await makeSigningKey()
  let provider: Provider | null = null
  const register = (...origins: readonly string[]): void => {
    const created = new Provider(issuer, configure(options, { key, origins }))
    const rest = created.callback()
    provider = created
    answerBy((request, response) => {
      if (request.url?.startsWith(INTERACTION)) void interact(created, { options, request, response })
      else void rest(request, response)
    })
  }
  // A gateway asks for the keys when it starts, and so before anybody knows its address.
  register(issuer)
  return {
    ...server,
    register,
    settings: {
      ...{ OPERATOR_ISSUER: issuer, OPERATOR_AUDIENCE: AUDIENCE, OPERATOR_AUDIENCE_PARAMETER: 'resource' },
      ...{ OPERATOR_GROUPS: JSON.stringify({ 'hook-operators': ['operate'], 'hook-readers': ['read'] }) },
      ...{ OPERATOR_CLIENT_ID: CLIENT, ...(options.secret && { OPERATOR_CLIENT_SECRET: options.secret }) },
    },
    answerOf: (url, person) => followAsBrowser(url, { issuer, person }),
    async expireCode(code) {
      await (await provider?.AuthorizationCode.find(code))?.destroy()
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
    features: FEATURES,
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
