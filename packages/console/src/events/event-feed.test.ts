import { describe, expect, it } from 'vitest'
import type { ListedEvent } from '../api/operator-client.ts'
import {
  applyChanges,
  type EventFeed,
  joinNewest,
  joinOlder,
  readInParts,
  type SearchPart,
  takePage,
} from './event-feed.ts'

const facts = {
  provider: 'acme',
  eventId: '',
  handler: 'fulfilment',
  type: '',
  objectId: '',
  orderId: '',
  reason: null,
  starts: 1,
} as const
const times = { receivedAt: '', dueAt: null, settledAt: null, deliveries: 1, mismatches: 0, test: false } as const
const event = (id: string, state: ListedEvent['state'] = 'done'): ListedEvent => ({ ...facts, ...times, id, state })

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
    expect(joinNewest(feed('76'), page).items[0]?.state).toBe('dead')
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

describe('applyChanges', () => {
  it('puts new events on top, newest first, and keeps the others in their place', () => {
    const applied = applyChanges(feed('765', '5'), [event('9', 'pending'), event('8'), event('6', 'dead')])
    expect([idsOf(applied), applied.next]).toEqual(['98765', '5'])
    expect(applied.items.map(({ state }) => state)).toEqual(['pending', 'done', 'done', 'dead', 'done'])
  })

  it('puts a late event between those that are known', () => {
    expect(idsOf(applyChanges(feed('9754'), [event('6'), event('8')]))).toBe('987654')
  })

  it('leaves older events to the pages that have them', () => {
    expect(idsOf(applyChanges(feed('987', '7'), [event('5'), event('9')]))).toBe('987')
    expect(idsOf(applyChanges(feed('987'), [event('5')]))).toBe('9875')
  })

  it('keeps a bounded number of events', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => event(String(99_998 - index)))
    const applied = applyChanges({ items: many, next: null, cut: null }, [event('99999')])
    expect([applied.items.length, applied.items[0]?.id, applied.next]).toEqual([5_000, '99999', '95000'])
  })
})

describe('takePage', () => {
  const reread = { page: feed('987', '7'), known: feed('76'), before: feed('76'), isBroken: false, isKept: false }
  const broken = { ...reread, isBroken: true }

  it('joins a page with what is known', () => {
    expect(takePage(reread)).toEqual({ feed: feed('9876'), isWhole: true })
  })

  it('takes the page alone if changes are missing', () => {
    expect(takePage(broken)).toEqual({ feed: reread.page, isWhole: true })
  })

  it('sees events that were missed before the reading, whatever came meanwhile', () => {
    const missed = { ...reread, before: feed('32'), known: feed('932') }
    expect(takePage(missed)).toEqual({ feed: reread.page, isWhole: true })
  })

  it('leaves what somebody reads as it is, and says that it is not whole', () => {
    expect(takePage({ ...broken, isKept: true })).toEqual({ feed: reread.known, isWhole: false })
    expect(takePage({ ...broken, known: undefined, isKept: true }).feed).toEqual(reread.page)
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
