// The cookie that holds a browser's session, and what a request must show besides it.
//
// A browser adds a cookie to a request whoever has caused the request, and sends it to every port of the host. So the
// cookie alone opens nothing: a call must also name its session in a header, which no form and no page of another origin
// can send, and must not come from a page of another origin as far as the browser says. The header has the id of the
// session, which is no secret: a window that still shows the operator of an earlier session cannot act as the current one.
// The cookie has no age, so it ends with the browser at the latest.

import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'
import { crossSite, sessionAmbiguous } from '../../errors.ts'
import { sessionIdOf } from './sign-ins.ts'

const HEADER = 'oncehook-session'
/** A page names it that does not know its session yet. It can only ask for it. */
const ANY_SESSION = '*'
const ASKING = '/operator/me'

/** The paths of cookies that a browser sends with that question. */
const PATHS = ['/', '/operator', ASKING, '/operator/']

/**
 * Each `Set-Cookie` of a new session. The last one has its token. Those before it remove what can stand beside it.
 *
 * Over TLS, the prefix `__Host-` keeps the cookie from being set by another host or without TLS. It requires the path `/`.
 * Without TLS, browsers take no such cookie, so the path is that of the operator API, which alone reads it. Then a server on
 * another port, or on another host of the domain, can set one of the same name with another path or domain.
 */
export function sessionCookies(request: IncomingMessage, token: string): string[] {
  const own = `${cookieName(request)}=${token}; ${scopeOf(request)}`
  if (isOverTls(request)) return [own]
  const domains = ['', ...domainsOf(request).map((domain) => `; Domain=${domain}`)]
  const scopes = domains.flatMap((domain) => PATHS.map((path) => `Path=${path}${domain}`))
  const others = scopes.filter((scope) => scope !== OWN_PATH)
  return [...others.map((scope) => `${cookieName(request)}=; ${scope}; Max-Age=0`), own]
}

/** The `Set-Cookie` that removes the cookie of a session that has ended. */
export function removedSessionCookie(request: IncomingMessage): string {
  return `${cookieName(request)}=; ${scopeOf(request)}; Max-Age=0`
}

const OWN_PATH = 'Path=/operator/'

function scopeOf(request: IncomingMessage): string {
  return `${isOverTls(request) ? 'Path=/; Secure' : OWN_PATH}; HttpOnly; SameSite=Strict`
}

/** The domains that the cookies of a host can have. No browser takes one of a single label. */
function domainsOf({ headers: { host = '' } }: IncomingMessage): string[] {
  const labels = /^[a-z0-9.-]+/i.exec(host)?.[0].split('.') ?? []
  if (isIP(labels.join('.')) !== 0) return []
  return labels.slice(1).map((_, index) => labels.slice(index).join('.'))
}

/** The tokens in the cookies of a request. Over TLS, only those of the protected name count. */
export function sessionTokensOf(request: IncomingMessage): string[] {
  const start = `${cookieName(request)}=`
  const cookies = (request.headers.cookie ?? '').split('; ').filter((one) => one.startsWith(start))
  return [...new Set(cookies.map((cookie) => cookie.slice(start.length)))]
}

/** The port is in the name, so that two gateways on one host do not replace each other's cookie. */
function cookieName(request: IncomingMessage): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return `${isOverTls(request) ? '__Host-' : ''}oncehook-session${port === undefined ? '' : `-${port}`}`
}

/** Whether the browser has used TLS. If a proxy ends it, only the `Origin` says so that a browser sends with each POST. */
function isOverTls({ socket, headers: { origin, host } }: IncomingMessage): boolean {
  return socket instanceof TLSSocket || origin === `https://${host}`
}

/**
 * Refuses a call with the cookie that is not from the gateway's own page.
 * @throws crossSite
 */
export function refuseForeignCall(request: IncomingMessage): void {
  refuseCrossSite(request)
  if (request.headers[HEADER] === undefined) {
    throw crossSite({}, { message: `A call with the cookie of a session must name the session in ${HEADER}` })
  }
}

/**
 * The token of the session that a call names. The question for it may leave it open, if there is only one token. Undefined if
 * the call names another session.
 * @throws sessionAmbiguous
 */
export function namedToken({ url, headers }: IncomingMessage, tokens: readonly string[]): string | undefined {
  const isAsking = headers[HEADER] === ANY_SESSION && url?.split('?', 1)[0] === ASKING
  if (!isAsking) return tokens.find((token) => sessionIdOf(token) === headers[HEADER])
  if (tokens.length > 1) throw sessionAmbiguous()
  return tokens[0]
}

/**
 * Refuses what a page of another origin has caused. Browsers say where a request comes from; other programs say nothing,
 * and have no visitor.
 * @throws crossSite
 */
export function refuseCrossSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  const { origin, host = '' } = headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  if (site !== 'same-origin' || !isOwn) throw crossSite()
}
