import type { ListedEvent } from '../api/operator-client.ts'

/** The states of an event, in the order of its life. */
export const EVENT_STATES = [
  'pending',
  'processing',
  'done',
  'unhandled',
  'dead',
  'closed',
] as const satisfies readonly ListedEvent['state'][]

/** The filters of the list of events, as the address bar has them. */
export interface EventSearch {
  /** An event id or an order id. */
  readonly find?: string
  readonly state?: ListedEvent['state']
  readonly provider?: string
  readonly reason?: string
  readonly order?: string
  /** ISO 8601. */
  readonly from?: string
  readonly to?: string
}

const TEXTS = ['find', 'provider', 'reason', 'order'] as const
const TIMES = ['from', 'to'] as const

/** Reads the filters of an address. What is unknown or not valid is left out. */
export function readEventSearch(search: Readonly<Record<string, unknown>>): EventSearch {
  const texts = TEXTS.map((name) => [name, textOf(search[name])])
  const times = TIMES.map((name) => [name, timeOf(search[name])])
  const state = EVENT_STATES.find((one) => one === search.state)
  const found = [...texts, ...times, ['state', state]].filter(([, value]) => value !== undefined)
  return Object.fromEntries(found)
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim().slice(0, 255) : ''
  return text === '' ? undefined : text
}

function timeOf(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** The filter of the operator API for the filters of an address. What is searched by `find` is not part of it. */
export function toEventFilter({ find: _, order, ...others }: EventSearch) {
  return { ...others, ...(order === undefined ? {} : { orderId: order }) }
}

/** The filters with one changed or, with undefined, removed. */
export function withFilter(search: EventSearch, change: { readonly [Name in keyof EventSearch]?: string | undefined }) {
  return readEventSearch({ ...search, ...change })
}
