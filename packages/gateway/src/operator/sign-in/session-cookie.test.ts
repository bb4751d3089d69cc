import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, it } from 'vitest'
import { sessionCookie, sessionTokenOf } from './session-cookie.ts'

const plain = new Socket()
const tls = new TLSSocket(new Socket())

function request(headers: IncomingMessage['headers'], socket: Socket = plain) {
  return { socket, headers: { host: 'hooks.example:8081', ...headers } } as IncomingMessage
}

it('the cookie has the strictest attributes that its connection allows', () => {
  const secure = '__Host-oncehook-session-8081=t; Path=/; Secure; HttpOnly; SameSite=Strict'
  expect(sessionCookie(request({}, tls), 't')).toBe(secure)
  expect(sessionCookie(request({ origin: 'https://hooks.example:8081' }), 't')).toBe(secure)
  expect(sessionCookie(request({ origin: 'http://hooks.example:8081' }), 't')).toBe(
    'oncehook-session-8081=t; Path=/operator/; HttpOnly; SameSite=Strict',
  )
  expect(sessionCookie(request({ host: 'hooks.example', origin: 'https://hooks.example' }), null)).toBe(
    '__Host-oncehook-session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0',
  )
})

it('the cookie of another port or of another name is not read', () => {
  const cookie =
    'oncehook-session=a; oncehook-session-80810=b; other=c; xoncehook-session-8081=d; oncehook-session-8081=e'
  expect(sessionTokenOf(request({ cookie }))).toBe('e')
  expect(sessionTokenOf(request({ cookie: 'oncehook-session=a' }))).toBeNull()
  expect(sessionTokenOf(request({}))).toBeNull()
})

it('over TLS a cookie that somebody could have set without TLS does not count', () => {
  const cookie = 'oncehook-session-8081=planted'
  expect(sessionTokenOf(request({ cookie }, tls))).toBeNull()
  const both = request({ cookie: `${cookie}; __Host-oncehook-session-8081=own` })
  expect(sessionTokenOf(both)).toBe('own')
})
