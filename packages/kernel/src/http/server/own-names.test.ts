import { expect, it } from 'vitest'
import { ownNames } from './own-names.ts'

const isOwn = ownNames('Metrics.internal', new Set(['hooks.example']))

it.each([
  ...[undefined, 'localhost', 'localhost:9464', 'LOCALHOST:9464', '127.0.0.1', '127.0.0.1:9464', '10.1.2.3:9464'],
  ...['[::1]:9464', 'metrics.internal', 'hooks.example', 'HOOKS.example:9464'],
])('a listener has the name %s', (host) => {
  expect(isOwn({ headers: { host } })).toBe(true)
})

it.each([
  ...['', 'evil.example', 'evil.example:9464', 'sub.hooks.example', 'hooks.example.evil.example'],
  ...['127.0.0.1.evil.example', 'localhost.evil.example'],
])('a listener does not have the name %j', (host) => {
  expect(isOwn({ headers: { host } })).toBe(false)
})
