import { expect, it } from 'vitest'
import type { ListedEvent } from '../api/operator-client.ts'
import type { EventFeed } from './event-feed.ts'
import { readInParts, type SearchPart } from './read-in-parts.ts'

const facts = { provider: 'acme', eventId: '', type: '', objectId: '', orderId: '', reason: null, starts: 1 } as const
const times = { receivedAt: '', dueAt: null, settledAt: null, deliveries: 1, mismatches: 0, test: false } as const
const event = (id: string): ListedEvent => ({ ...facts, ...times, id, state: 'done' })
const feed = (ids: string, next: string | null, searchedTo?: string): EventFeed => ({
  ...{ items: [...ids].map(event), next, cut: searchedTo === undefined ? null : { searchedTo } },
})

async function readAll(...answers: EventFeed[]) {
  const asked: SearchPart[] = []
  const parts: EventFeed[] = []
  const read = async (part: SearchPart): Promise<EventFeed> => {
    asked.push(part)
    return answers.shift() ?? feed('', null)
  }
  return { result: await readInParts(read, (part) => parts.push(part)), asked, parts }
}

it('reads once if the page is full or everything was searched', async () => {
  for (const whole of [feed('98', '8'), feed('98', null)]) {
    const { result, asked, parts } = await readAll(whole)
    expect([result, asked.length, parts]).toEqual([whole, 1, []])
  }
})

it('shows what was found soon, and continues behind it', async () => {
  const first = feed('9', '5', 'noon')
  const { result, asked, parts } = await readAll(first, feed('43', '2', 'dawn'))
  expect(parts).toEqual([first])
  expect(asked.map(({ after }) => after)).toEqual([undefined, '5'])
  expect(result).toEqual(feed('943', '2', 'dawn'))
})
