import { describe, expect, it } from 'vitest'
import type { FeedEvent, ListedEvent } from '../api/operator-client.ts'
import { type EventFeed, joinNewest, joinOlder, keepPlaces, readInParts, type SearchPart } from './event-feed.ts'

const facts = { provider: 'acme', type: '', orderId: '', receivedAt: '', deliveries: 1, mismatches: 0, test: false }
const event = (id: string, state: ListedEvent['state'] = 'done', eventId = id): FeedEvent => ({
  ...{ ...facts, id, eventId },
  tasks: [{ id, handler: 'fulfilment', state, reason: null }],
})

function feed(ids: string, next: string | null = null): EventFeed {
  return { items: [...ids].map((id) => event(id)), next, cut: null }
}

const idsOf = ({ items }: EventFeed): string => items.map(({ id }) => id).join('')

describe('joinNewest', () => {
  it('adds newer events and keeps older ones that were read before', () => {
    const joined = joinNewest(feed('76543', '3'), feed('987', '7'))
    expect([idsOf(joined), joined.next]).toEqual(['9876543', '3'])
  })

  it('shows the newest state of an event', () => {
    const page = { items: [event('7', 'dead')], next: '7', cut: null }
    expect(joinNewest(feed('76'), page).items[0]?.tasks[0]?.state).toBe('dead')
  })

  it('shows an event once whose place has changed', () => {
    const page = { items: [event('8', 'dead', '6')], next: '8', cut: null }
    expect(idsOf(joinNewest(feed('876'), page))).toBe('87')
  })

  it('begins again if events in between are not known', () => {
    expect(joinNewest(feed('321'), feed('987', '7'))).toEqual(feed('987', '7'))
  })

  it('takes a page that is all there is', () => {
    expect(joinNewest(feed('321'), feed('9'))).toEqual(feed('9'))
  })

  it('keeps a bounded number of events, and reads the others again', () => {
    const many = Array.from({ length: 6_000 }, (_, index) => event(String(99_999 - index)))
    const joined = joinNewest(
      { items: many, next: null, cut: null },
      { items: many.slice(0, 1), next: '99999', cut: null },
    )
    expect([joined.items.length, joined.next]).toEqual([5_000, '95000'])
  })
})

describe('keepPlaces', () => {
  it('keeps the rows that are held, with what is known now, counts newer ones and adds older ones', () => {
    const now = [event('9'), event('8', 'dead', '6'), event('7', 'closed'), event('4')]
    const { items, fresh } = keepPlaces(feed('765').items, now)
    expect(items.map(({ id, tasks: [task] }) => [id, task?.state])).toEqual([
      ['7', 'closed'],
      ['8', 'dead'],
      ['5', 'done'],
      ['4', 'done'],
    ])
    expect([fresh, keepPlaces(null, now)]).toEqual([1, { items: now, fresh: 0 }])
  })
})

describe('joinOlder', () => {
  it('adds a page, no event twice', () => {
    const joined = joinOlder(feed('987', '7'), feed('765', '5'), '7')
    expect([idsOf(joined), joined.next]).toEqual(['98765', '5'])
  })

  it.each([
    ['is known already', feed('98765', '5')],
    ['no longer follows what is known', feed('ed', 'd')],
    ['is older than all there is', feed('9')],
  ])('leaves out a page that %s', (_, known) => {
    expect(joinOlder(known, feed('65', '5'), '7')).toBe(known)
  })
})

const part = (ids: string, next: string | null, searchedTo?: string): EventFeed => ({
  ...feed(ids, next),
  cut: searchedTo === undefined ? null : { searchedTo },
})

async function readAll(...answers: EventFeed[]) {
  const asked: SearchPart[] = []
  const parts: EventFeed[] = []
  const read = async (search: SearchPart): Promise<EventFeed> => {
    asked.push(search)
    return answers.shift() ?? part('', null)
  }
  return { result: await readInParts(read, (found) => parts.push(found)), asked, parts }
}

describe('readInParts', () => {
  it('reads once if the page is full or everything was searched', async () => {
    for (const whole of [part('98', '8'), part('98', null)]) {
      const { result, asked, parts } = await readAll(whole)
      expect([result, asked.length, parts]).toEqual([whole, 1, []])
    }
  })

  it('shows what was found soon, and continues behind it', async () => {
    const first = part('9', '5', 'noon')
    const { result, asked, parts } = await readAll(first, part('43', '2', 'dawn'))
    expect(parts).toEqual([first])
    expect(asked.map(({ after }) => after)).toEqual([undefined, '5'])
    expect(result).toEqual(part('943', '2', 'dawn'))
  })
})
