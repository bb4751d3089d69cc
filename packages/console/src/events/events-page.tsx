import { useEffect, useRef } from 'react'
import type { FeedEvent } from '../api/operator-client.ts'
import { SoughtOrder } from '../event/order-facts.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { BusyButton } from '../parts/buttons.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { EmptyNotice, Read } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { SendTest } from '../providers/providers-page.tsx'
import { useProviders } from '../providers/use-providers.tsx'
import { ReplayButton, type ReplayTarget } from '../replays/replay-dialog.tsx'
import { texts } from '../texts/texts.ts'
import { type EventFeed, keepPlaces } from './event-feed.ts'
import { EventFilters, useEventSearch } from './event-filters.tsx'
import { type EventSearch, matchingTasks, toEventFilter } from './event-search.ts'
import { EventsTable } from './events-table.tsx'
import { useEventFeed } from './use-event-feed.ts'

/** The newest events, live. */
export function EventsPage() {
  const search = useEventSearch()
  return (
    <PageFrame title="Events">
      <EventFilters search={search} />
      <FeedView key={JSON.stringify(search)} search={search} />
    </PageFrame>
  )
}

const LIVENESS = {
  off: ['Not live: this search is not updated', 'text-quiet'],
  live: ['Live', 'text-good'],
  broken: ['Not live: the gateway does not answer', 'text-bad'],
} as const

function FeedView({ search }: { readonly search: EventSearch }) {
  // It may be the id of an order.
  const order = search.find ?? search.order
  const { feed, older, isLive } = useEventFeed(search)
  const { holding, items, fresh } = useCalmRows(feed.data?.items ?? [])
  const shown = feed.error !== null ? 'broken' : isLive ? 'live' : 'off'
  const [liveness, colour] = LIVENESS[shown]
  return (
    <Read query={feed}>
      {(known) => (
        <>
          <div className="my-2 flex flex-wrap items-center gap-x-4 gap-y-1">
            <span>{`${texts.plural(items.length, 'event', 'events')}${known.next === null ? '' : ', and older ones'}`}</span>
            <span role="status" className={colour}>
              {liveness}
            </span>
            {fresh > 0 && <span role="status">{texts.plural(fresh, 'new event', 'new events')} above</span>}
            {shown === 'off' && (
              <button type="button" className="button" onClick={() => void feed.refetch()}>
                Refresh
              </button>
            )}
            <span className="ml-auto">
              <ReplayButton
                text="Replay these…"
                why={items.length === 0 ? 'There is nothing to replay.' : null}
                state={search.state}
                toTarget={() => targetOf(search, items)}
              />
            </span>
          </div>
          {known.cut === null && order !== undefined && <SoughtOrder id={order} hasEvents={items.length > 0} />}
          {items.length > 0 && (
            <div {...holding}>
              <EventsTable items={items} search={search} />
            </div>
          )}
          {items.length === 0 && known.cut === null && <NoEvents isFiltered={Object.keys(search).length > 0} />}
          {older.error !== null && <ProblemNotice error={older.error} />}
          <Older feed={known} older={older} isSearching={feed.isFetching} />
        </>
      )}
    </Read>
  )
}

/** So long after a movement, the pointer may be about to click. */
const CALM_MS = 10_000

/** The rows to show: under the focus or a pointer that has just moved, those that were shown keep their places. */
function useCalmRows(items: readonly FeedEvent[]) {
  const place = useRef<HTMLDivElement>(null)
  const shown = useRef(items)
  const movedAt = useRef(Number.NEGATIVE_INFINITY)
  const isPointed = place.current?.matches(':hover') === true && Date.now() - movedAt.current < CALM_MS
  const isHeld = isPointed || place.current?.matches(':focus-within') === true
  const rows = keepPlaces(isHeld ? shown.current : null, items)
  useEffect(() => {
    shown.current = rows.items
  })
  const onPointerMove = (): void => {
    movedAt.current = Date.now()
  }
  return { holding: { ref: place, onPointerMove }, ...rows }
}

const MOST_IDS = 1_000

/** What a replay of the list selects: its filter or, for a search by id, the events that were found. */
function targetOf(search: EventSearch, items: readonly FeedEvent[]): ReplayTarget {
  if (search.find === undefined && search.text === undefined) return { filter: toEventFilter(search) }
  const tasks = items.flatMap((item) => matchingTasks(item, search))
  return { ids: tasks.slice(0, MOST_IDS).map(({ id }) => id) }
}

function NoEvents({ isFiltered }: { readonly isFiltered: boolean }) {
  const provider = useProviders().data?.find(({ takesTests }) => takesTests)
  if (isFiltered) {
    return <EmptyNotice title="No event matches these filters" hint="Clear a filter, or choose a longer time." />
  }
  return (
    <>
      <EmptyNotice
        title="No events yet"
        hint="Each event that a provider delivers is a row here. Enter a webhook URL from the page Providers at its provider, or send a payment on the machine of the gateway:"
        command="npm run oncehook -- send"
      />
      {provider !== undefined && (
        <p className="flex flex-wrap justify-center gap-2">
          <SendTest provider={provider} text={`Send a test event of ${provider.name}…`} />
        </p>
      )}
    </>
  )
}

function Older(props: {
  readonly feed: EventFeed
  readonly older: ReturnType<typeof useEventFeed>['older']
  readonly isSearching: boolean
}) {
  const { feed, older, isSearching } = props
  const { cut, next } = feed
  // The page continues the search automatically.
  const isGoingOn = cut !== null && isSearching
  return (
    <>
      {cut !== null && (
        <p role="status" className="pt-3 text-center">
          {isGoingOn
            ? 'The search continues. So far it has searched back to'
            : 'The search took too long and stopped. It has searched back to'}{' '}
          <Instant at={cut.searchedTo} />
        </p>
      )}
      {next !== null && !isGoingOn && (
        <p className="py-3 text-center">
          <BusyButton isBusy={older.isPending} onClick={() => older.mutate(next)}>
            {cut === null ? 'Load more' : 'Search further back'}
          </BusyButton>
        </p>
      )}
    </>
  )
}
