import { type ReactNode, useState } from 'react'
import type { ListedEvent } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { useKeys } from '../frame/use-keys.ts'
import { BusyButton, GuardedButton } from '../parts/buttons.tsx'
import { ProblemNotice, QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { SendTest } from '../providers/providers-page.tsx'
import { useProviders } from '../providers/use-providers.tsx'
import { ReplayDialog, type ReplayTarget } from '../replays/replay-dialog.tsx'
import { texts } from '../texts/texts.ts'
import type { EventFeed } from './event-feed.ts'
import { EventFilters, useEventSearch } from './event-filters.tsx'
import { type EventSearch, toEventFilter } from './event-search.ts'
import { EventsTable } from './events-table.tsx'
import { useEventFeed } from './use-event-feed.ts'

/** The newest events, live. */
export function EventsPage() {
  const search = useEventSearch()
  return (
    <PageFrame title={texts.pages.events}>
      <EventFilters search={search} />
      <FeedView key={JSON.stringify(search)} search={search} />
    </PageFrame>
  )
}

function FeedView({ search }: { readonly search: EventSearch }) {
  const { feed, older, isLive } = useEventFeed(search)
  const { data } = feed
  const items = data?.items ?? []
  const hasOlder = data !== undefined && data.next !== null
  return (
    <>
      <QueryProblem error={feed.error} retry={() => void feed.refetch()} />
      {data !== undefined && (
        <FeedBar search={search} items={items} hasOlder={hasOlder}>
          <Liveness
            shown={feed.error === null ? (isLive ? 'live' : 'off') : 'broken'}
            readAgain={() => void feed.refetch()}
          />
        </FeedBar>
      )}
      {data === undefined && feed.error === null && <p role="status">{texts.frame.loading}</p>}
      {items.length > 0 && <EventsTable items={items} />}
      {data !== undefined && items.length === 0 && data.cut === null && (
        <NoEvents isFiltered={Object.keys(search).length > 0} />
      )}
      {older.error !== null && <ProblemNotice error={older.error} />}
      {data !== undefined && <Older feed={data} older={older} isSearching={feed.isFetching} />}
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
  const { noMatchTitle, noMatchHint, emptyTitle, emptyHint } = texts.events
  return isFiltered ? (
    <EmptyNotice title={noMatchTitle} hint={noMatchHint} />
  ) : (
    <>
      <EmptyNotice title={emptyTitle} hint={emptyHint} />
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
function targetOf(search: EventSearch, items: readonly ListedEvent[]): ReplayTarget {
  if (search.find === undefined && search.text === undefined) return { filter: toEventFilter(search) }
  return { ids: items.slice(0, MOST_IDS).map(({ id }) => id) }
}

function reasonAgainstReplay(items: readonly ListedEvent[], mayOperate: boolean): string | null {
  if (!mayOperate) return texts.why.operate
  return items.length === 0 ? texts.why.noEvents : null
}

function FeedBar(props: {
  readonly search: EventSearch
  readonly items: readonly ListedEvent[]
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

/** Whether the list is live and, if it is not, a button to read it again. */
function Liveness({ shown, readAgain }: { readonly shown: keyof typeof LOOKS; readonly readAgain: () => void }) {
  return (
    <>
      <span role="status" className={LOOKS[shown]}>
        {texts.events.liveness[shown]}
      </span>
      {shown === 'off' && (
        <button type="button" className="button" onClick={readAgain}>
          {texts.events.readAgain}
        </button>
      )}
    </>
  )
}
