import { expect, it } from 'vitest'
import { ownNames } from './own-names.ts'

const isOwn = ownNames('Metrics.internal', new Set(['hooks.example']))

it.each([undefined, 'localhost:9464', '127.0.0.1', '[::1]:9464', 'metrics.internal', 'HOOKS.example:9464'])(
  'a listener has the name %s',
  (host) => {
    expect(isOwn({ headers: { host } })).toBe(true)
  },
)

it.each(['', 'evil.example', 'sub.hooks.example', '127.0.0.1.evil.example', 'localhost.evil.example'])(
  'a listener does not have the name %j',
  (host) => {
    expect(isOwn({ headers: { host } })).toBe(false)
  },
)
