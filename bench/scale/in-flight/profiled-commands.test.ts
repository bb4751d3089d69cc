import { expect, it } from 'vitest'
import { kindOf } from './profiled-commands.ts'

it.each([
  ['poll', { collection: 'events', op: 'query', command: { filter: { state: 'pending' } } }],
  [
    'holders',
    { collection: 'events', op: 'command', command: { aggregate: 'events', pipeline: inState('processing') } },
  ],
  ['owners', { collection: 'owners', op: 'query', command: { filter: { _id: { $in: ['a'] } } } }],
  ['heartbeat', { collection: 'owners', op: 'update', command: { q: { _id: 'a' }, u: [], upsert: true } }],
  [null, { collection: 'events', op: 'update', command: { q: { _id: 'a', state: 'pending' }, u: [] } }],
  [null, { collection: 'replays', op: 'query', command: { filter: { state: 'pending' } } }],
] as const)('recognises %s in the profile', (kind, { collection, op, command }) => {
  expect(kindOf(collection, op, command)).toBe(kind)
})

function inState(state: string) {
  return [{ $match: { state } }]
}
