import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { removedSessionCookie, sessionCookies, sessionTokensOf } from './session-cookie.ts'

const plain = new Socket()
const tls = new TLSSocket(new Socket())

function request(headers: IncomingMessage['headers'], socket: Socket = plain) {
  return { socket, headers: { host: 'hooks.example:8081', ...headers } } as IncomingMessage
}

it('the cookie has the strictest attributes that its connection allows', () => {
  const secure = '__Host-oncehook-session-8081=t; Path=/; Secure; HttpOnly; SameSite=Strict'
  expect(sessionCookies(request({}, tls), 't')).toEqual([secure])
  expect(sessionCookies(request({ origin: 'https://hooks.example:8081' }), 't')).toEqual([secure])
  expect(sessionCookies(request({ origin: 'http://hooks.example:8081' }), 't').at(-1)).toBe(
    'oncehook-session-8081=t; Path=/operator/; HttpOnly; SameSite=Strict',
  )
  expect(removedSessionCookie(request({ host: 'hooks.example', origin: 'https://hooks.example' }))).toBe(
    '__Host-oncehook-session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0',
  )
})

it('the cookie of another port or of another name is not read', () => {
  const cookie =
    'oncehook-session=a; oncehook-session-80810=b; other=c; xoncehook-session-8081=d; oncehook-session-8081=e'
  expect(sessionTokensOf(request({ cookie }))).toEqual(['e'])
  expect(sessionTokensOf(request({ cookie: 'oncehook-session=a' }))).toEqual([])
  expect(sessionTokensOf(request({}))).toEqual([])
})

it('over TLS a cookie that somebody could have set without TLS does not count, even if a proxy ends TLS', () => {
  const cookie = 'oncehook-session-8081=planted'
  const both = `${cookie}; __Host-oncehook-session-8081=own`
  const origin = 'https://hooks.example:8081'
  for (const [headers, socket] of [[{}, tls] as const, [{ origin }, plain] as const]) {
    expect(sessionTokensOf(request({ ...headers, cookie }, socket))).toEqual([])
    expect(sessionTokensOf(request({ ...headers, cookie: both }, socket))).toEqual(['own'])
  }
})

it('a sign-in without TLS removes what another port or host may have set, and over TLS nothing can have', () => {
  const removed = (host: string) =>
    sessionCookies(request({ host }), 't').map((cookie) =>
      /; Path=([^;]*)(; Domain=[^;]*)?/.exec(cookie)?.slice(1).join(''),
    )
  const paths = ['/', '/operator', '/operator/me']
  expect(removed('127.0.0.1:8081')).toEqual([...paths, '/operator/'])
  expect(removed('[::1]:8081')).toEqual([...paths, '/operator/'])
  expect(removed('localhost')).toEqual([...paths, '/operator/'])
  expect(removed('hooks.shop.example')).toEqual([
    ...paths,
    ...['; Domain=hooks.shop.example', '; Domain=shop.example'].flatMap((domain) =>
      [...paths, '/operator/'].map((path) => path + domain),
    ),
    '/operator/',
  ])
  expect(sessionCookies(request({}, tls), 't')).toHaveLength(1)
})
