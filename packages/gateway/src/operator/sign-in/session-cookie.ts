// The cookie that holds a browser's session, and what a request must show besides it.
//
// A browser adds a cookie to a request whoever has caused the request, and sends it to every port of the host. So the
// cookie alone opens nothing: a call must also name its session in a header, which no form and no page of another origin
// can send, and must not come from a page of another origin as far as the browser says. The header has the id of the
// session, which is no secret: a window that still shows the operator of an earlier session cannot act as the current one.
// The cookie has no age, so it ends with the browser at the latest.

import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { crossSite } from '../../errors.ts'

const HEADER = 'oncehook-session'
/** A page names it that does not know its session yet. It can only ask for it. */
const ANY_SESSION = '*'
const ASKING = '/operator/me'

/**
 * The `Set-Cookie` with the token of a session; without a token, the one that removes it.
 *
 * Over TLS, the prefix `__Host-` keeps the cookie from being set by another host or without TLS. It requires the path `/`.
 * Without TLS, browsers take no such cookie, so the path is that of the operator API, which alone reads it.
 */
export function sessionCookie(request: IncomingMessage, token: string | null): string {
  const isSecure = isOverTls(request)
  const scope = isSecure ? 'Path=/; Secure' : 'Path=/operator/'
  const end = token === null ? '; Max-Age=0' : ''
  return `${cookieName(request, isSecure)}=${token ?? ''}; ${scope}; HttpOnly; SameSite=Strict${end}`
}

/** The token in the cookie of a request; null if there is none. Over TLS, only the protected name counts. */
export function sessionTokenOf(request: IncomingMessage): string | null {
  const cookies = (request.headers.cookie ?? '').split('; ')
  // A proxy may have ended TLS, which a query does not show.
  for (const isSecure of request.socket instanceof TLSSocket ? [true] : [true, false]) {
    const start = `${cookieName(request, isSecure)}=`
    const cookie = cookies.find((one) => one.startsWith(start))
    if (cookie !== undefined) return cookie.slice(start.length)
  }
  return null
}

/** The port is in the name, so that two gateways on one host do not replace each other's cookie. */
function cookieName({ headers }: IncomingMessage, isSecure: boolean): string {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return `${isSecure ? '__Host-' : ''}oncehook-session${port === undefined ? '' : `-${port}`}`
}

/** Whether the browser has used TLS. If a proxy ends it, only the browser's own `Origin` says so. */
function isOverTls({ socket, headers }: IncomingMessage): boolean {
  return socket instanceof TLSSocket || headers.origin?.startsWith('https://') === true
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

/** Whether a call names this session. The question for it may leave it open. */
export function namesSession({ url, headers }: IncomingMessage, id: string): boolean {
  return headers[HEADER] === id || (headers[HEADER] === ANY_SESSION && url?.split('?', 1)[0] === ASKING)
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
