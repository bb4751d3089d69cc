import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { FeedEvent } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { SoughtOrder } from '../event/order-facts.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { useKeys } from '../frame/use-keys.ts'
import { BusyButton, GuardedButton } from '../parts/buttons.tsx'
import { ProblemNotice, QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice, Loading } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { SendTest } from '../providers/providers-page.tsx'
import { useProviders } from '../providers/use-providers.tsx'
import { ReplayDialog, type ReplayTarget } from '../replays/replay-dialog.tsx'
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
    <PageFrame title={texts.pages.events}>
      <EventFilters search={search} />
      <FeedView key={JSON.stringify(search)} search={search} order={search.find ?? search.order} />
    </PageFrame>
  )
}

/** `order` may be the id of an order. */
function FeedView({ search, order }: { readonly search: EventSearch; readonly order: string | undefined }) {
  const { feed, older, isLive } = useEventFeed(search)
  const { data } = feed
  const { holding, items, fresh } = useCalmRows(data?.items ?? [])
  const hasOlder = data !== undefined && data.next !== null
  return (
    <>
      <QueryProblem error={feed.error} retry={() => void feed.refetch()} />
      {data !== undefined && (
        <FeedBar search={search} items={items} hasOlder={hasOlder}>
          <Liveness
            shown={feed.error === null ? (isLive ? 'live' : 'off') : 'broken'}
            fresh={fresh}
            readAgain={() => void feed.refetch()}
          />
        </FeedBar>
      )}
      {data?.cut === null && order !== undefined && <SoughtOrder id={order} hasEvents={items.length > 0} />}
      {data === undefined && feed.error === null && <Loading />}
      {items.length > 0 && (
        <div {...holding}>
          <EventsTable items={items} search={search} />
        </div>
      )}
      {data !== undefined && items.length === 0 && data.cut === null && (
        <NoEvents isFiltered={Object.keys(search).length > 0} />
      )}
      {older.error !== null && <ProblemNotice error={older.error} />}
      {data !== undefined && <Older feed={data} older={older} isSearching={feed.isFetching} />}
    </>
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
          {isGoingOn ? texts.events.searching : texts.events.cut} <Instant at={cut.searchedTo} />
        </p>
      )}
      {next !== null && !isGoingOn && (
        <p className="py-3 text-center">
          <BusyButton isBusy={older.isPending} onClick={() => older.mutate(next)}>
            {cut === null ? texts.frame.more : texts.events.searchOn}
          </BusyButton>
        </p>
      )}
    </>
  )
}

function NoEvents({ isFiltered }: { readonly isFiltered: boolean }) {
  const { noMatchTitle, noMatchHint, emptyTitle, emptyHint, emptyCommand } = texts.events
  return isFiltered ? (
    <EmptyNotice title={noMatchTitle} hint={noMatchHint} />
  ) : (
    <>
      <EmptyNotice title={emptyTitle} hint={emptyHint} command={emptyCommand} />
      <TestOfFirst />
    </>
  )
}

/** The button that sends a test event of the first provider that supports it. */
function TestOfFirst() {
  const provider = useProviders().data?.find(({ takesTests }) => takesTests)
  if (provider === undefined) return null
  const { name } = provider
  return (
    <p className="flex flex-wrap justify-center gap-2">
      <SendTest provider={name} takesTests text={texts.test.sendOf(name)} />
    </p>
  )
}

const MOST_IDS = 1_000

/** What a replay of the list selects: its filter or, for a search by id, the events that were found. */
function targetOf(search: EventSearch, items: readonly FeedEvent[]): ReplayTarget {
  if (search.find === undefined && search.text === undefined) return { filter: toEventFilter(search) }
  const tasks = items.flatMap((item) => matchingTasks(item, search))
  return { ids: tasks.slice(0, MOST_IDS).map(({ id }) => id) }
}

function reasonAgainstReplay(items: readonly FeedEvent[], mayOperate: boolean): string | null {
  if (!mayOperate) return texts.why.operate
  return items.length === 0 ? texts.why.noEvents : null
}

function FeedBar(props: {
  readonly search: EventSearch
  readonly items: readonly FeedEvent[]
  readonly hasOlder: boolean
  readonly children: ReactNode
}) {
  const { search, items, hasOlder, children } = props
  const [target, setTarget] = useState<ReplayTarget | null>(null)
  const mayOperate = useMayDo('operate')
  const why = reasonAgainstReplay(items, mayOperate)
  const open = (): void => setTarget(targetOf(search, items))
  useKeys(why === null ? { r: open } : {})
  return (
    <div className="my-2 flex flex-wrap items-center gap-x-4 gap-y-1">
      <span>{texts.events.shown(items.length, hasOlder)}</span>
      {children}
      <span className="ml-auto">
        <GuardedButton text={texts.events.replay} why={why} onClick={open} />
      </span>
      {target !== null && (
        <ReplayDialog target={target} includesDone={search.state === 'done'} onClose={() => setTarget(null)} />
      )}
    </div>
  )
}

const LOOKS = { off: 'text-quiet', live: 'text-good', broken: 'text-bad' } as const

/** Whether the list is live, how many events wait for their places, and, if it is not live, a button to read it again. */
function Liveness(props: {
  readonly shown: keyof typeof LOOKS
  readonly fresh: number
  readonly readAgain: () => void
}) {
  const { shown, fresh, readAgain } = props
  return (
    <>
      <span role="status" className={LOOKS[shown]}>
        {texts.events.liveness[shown]}
      </span>
      {fresh > 0 && <span role="status">{texts.events.fresh(fresh)}</span>}
      {shown === 'off' && (
        <button type="button" className="button" onClick={readAgain}>
          {texts.events.readAgain}
        </button>
      )}
    </>
  )
}
