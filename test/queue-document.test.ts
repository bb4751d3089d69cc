import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { EVENT_INDEXES } from '@oncehook/gateway/inbox/event-document'
import { expect, it } from 'vitest'

const readme = readFileSync(resolve(import.meta.dirname, '../packages/queue/README.md'), 'utf8')

it('the README of the queue lists every index of events with its key, and no other', () => {
  const listed = [...readme.matchAll(/^\| `(\w+)` \| `([^`]+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, name, key]) => [
    name,
    key,
  ])
  const made = EVENT_INDEXES.indexes.map(({ name, key }) => [name, Object.keys(key).join(', ')])
  expect(new Map(listed as [string, string][])).toEqual(new Map([['_id_', '_id'], ...(made as [string, string][])]))
  expect(listed.length).toBeLessThanOrEqual(11)
})
