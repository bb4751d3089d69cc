// The filters of the list of events. The address bar has them: a filter reads its value there and changes it there, so that a
// link and the button Back show the same list. Of what is typed into the search box, the address has a name only, which means
// nothing outside this session: the text can name a person, and addresses are kept in histories and sent to colleagues.

import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'
import { useMayDo } from '../api/session.ts'
import { useKeys } from '../frame/use-keys.ts'
import { HandlerFilter } from '../handlers/use-handlers.tsx'
import { useOverview } from '../overview/use-overview.ts'
import { ChipChoice, Choice } from '../parts/choice.tsx'
import { Menu } from '../parts/menu.tsx'
import { ProviderFilter } from '../providers/use-providers.tsx'
import { texts } from '../texts/texts.ts'
import type { EventFeed } from './event-feed.ts'
import {
  EVENT_STATES,
  type EventSearch,
  type FilterChange,
  readEventSearch,
  type TypedSearch,
  textOf,
} from './event-search.ts'

/** The filters of the list: fields, the rarer ones in a menu, tabs, and what is chosen. Each change is in the address at once. */
export function EventFilters({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const reasons = Object.entries(useOverview().data?.deadByReason ?? {})
  return (
    <search className="mt-1 mb-2 block">
      <div className="flex flex-wrap items-center gap-2">
        <FindBox key={`${search.find} ${search.text}`} search={search} />
        <ProviderFilter as={Choice} chosen={search.provider} onChoose={(provider) => change({ provider })} />
        <TypeFilter search={search} />
        <Choice
          label="Reason"
          any="All reasons"
          chosen={search.reason}
          options={reasons.map(([one, count]) => [one, `${one} (${texts.number(count)})`])}
          onChoose={(reason) => change(reason === undefined ? { reason } : { reason, state: 'dead' })}
        />
        <TimeFilter search={search} />
        <Menu text="Filters">
          <OtherFilters search={search} />
        </Menu>
      </div>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <StateChips search={search} />
        <HandlerFilter chosen={search.handler} onChoose={(handler) => change({ handler })} />
        <Chosen search={search} />
      </div>
    </search>
  )
}

const SEARCH = 'Event, order or payment id'

function FindBox({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const client = useQueryClient()
  const input = useRef<HTMLInputElement>(null)
  const mayReadBodies = useMayDo('bodies')
  useKeys({ '/': () => input.current?.focus() })
  return (
    <form
      className="flex grow items-center gap-2 max-sm:basis-full"
      onSubmit={(event) => {
        event.preventDefault()
        const form = new FormData(event.currentTarget)
        const typed = textOf(form.get('find'))
        change({ typed: typed && remember(client, { [form.has('bodies') ? 'text' : 'find']: typed }) })
      }}
    >
      <input
        ref={input}
        name="find"
        type="search"
        defaultValue={search.find ?? search.text ?? ''}
        placeholder={SEARCH}
        aria-label={SEARCH}
        autoComplete="off"
        spellCheck={false}
        className="input min-w-40 grow"
      />
      <label
        className={`flex items-center gap-1 whitespace-nowrap ${mayReadBodies ? '' : 'text-quiet'}`}
        title={mayReadBodies ? 'The audit log records each search in bodies.' : texts.why('bodies')}
      >
        <input type="checkbox" name="bodies" disabled={!mayReadBodies} defaultChecked={search.text !== undefined} />
        text in bodies
      </label>
    </form>
  )
}

/** A tab for each state. As long as nothing else is chosen, it also says how many tasks are in the state. */
function StateChips({ search }: { readonly search: EventSearch }) {
  const { data } = useOverview()
  const counts = Object.keys(search).every((name) => name === 'state') ? data?.states : undefined
  const countOf = (state: EventSearch['state']) => (state && counts?.[state]) ?? undefined
  return (
    <nav aria-label="State" title="In tasks, one for each handler" className="chips max-w-full overflow-x-auto">
      {[undefined, ...EVENT_STATES].map((state) => (
        <Link
          key={state ?? ''}
          to="/events"
          search={changeFilters({ state, reason: undefined })}
          activeOptions={{ exact: true }}
          activeProps={{}}
          className="chip"
          aria-current={search.state === state ? 'true' : undefined}
          data-count={countOf(state)?.toLocaleString('en', { notation: 'compact' })}
        >
          {state ?? 'All'}
        </Link>
      ))}
    </nav>
  )
}

/** The types that the lists of this session have shown. */
function TypeFilter({ search: { type } }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const lists = useQueryClient().getQueriesData<EventFeed>({ queryKey: ['events', 'list'] })
  const seen = lists.flatMap(([, feed]) => feed?.items.map((item) => item.type) ?? [])
  return (
    <Choice
      label="Type"
      any="All types"
      chosen={type}
      options={[...new Set(seen)].toSorted().map((one) => [one, one])}
      onChoose={(chosen) => change({ type: chosen })}
    />
  )
}

const MINUTE_MS = 60_000
/** By their minutes. */
const SPANS = [
  ['15', 'Last 15 minutes'],
  ['60', 'Last hour'],
  ['1440', 'Last 24 hours'],
  ['10080', 'Last 7 days'],
] as const

/** The filter for the time of receipt. The menu of the other filters has the exact times. */
function TimeFilter({ search: { from, to } }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const choose = (span: string | undefined): void =>
    change({ from: span && new Date(Date.now() - Number(span) * MINUTE_MS).toISOString(), to: undefined })
  const chosen = (from ?? to) && 'Custom'
  return <Choice label="Received" any="Any time" chosen={chosen} options={SPANS} onChoose={choose} />
}

const DUPLICATES = { repeated: 'Duplicates', changed: 'Duplicates with another body', any: 'Either' }
const TESTS = { only: 'Test events only', without: 'Without test events' }
const TIMES = { from: 'From', to: 'Before' }

function OtherFilters({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  return (
    <div className="grid gap-3">
      <ChipChoice
        label="Duplicates"
        any="Duplicates or not"
        chosen={search.duplicates}
        options={Object.entries(DUPLICATES)}
        onChoose={(duplicates) => change({ duplicates })}
      />
      <ChipChoice
        label="Test events"
        any="With test events"
        chosen={search.tests}
        options={Object.entries(TESTS)}
        onChoose={(tests) => change({ tests })}
      />
      {(['from', 'to'] as const).map((name) => (
        <label key={name} className="grid grid-cols-[4rem_1fr] items-center">
          {TIMES[name]}
          <input
            type="datetime-local"
            className="input"
            value={toField(search[name])}
            onChange={({ target }) => change({ [name]: target.value })}
          />
        </label>
      ))}
    </div>
  )
}

/** A time in the format of the browser's field. */
const toField = (at = ''): string => at && texts.time.local(new Date(at)).slice(0, 16).replace(' ', 'T')

/** What is chosen, beside what the tabs show. A click removes one. */
function Chosen({ search }: { readonly search: EventSearch }) {
  if (Object.keys(search).length === 0) return null
  const { provider, type, reason, order, duplicates, tests, from, to, find, text } = search
  const timeOf = (at: string | undefined): string | undefined => at && texts.time.local(new Date(at))
  const chosen: readonly (readonly [filter: keyof FilterChange, name: string, value: string | undefined])[] = [
    ['typed', 'Search', find ?? text],
    ['provider', 'Provider', provider],
    ['type', 'Type', type],
    ['reason', 'Reason', reason],
    ['order', 'Order', order],
    ['duplicates', '', duplicates && DUPLICATES[duplicates]],
    ['tests', '', tests && TESTS[tests]],
    ['from', 'From', timeOf(from)],
    ['to', 'Before', timeOf(to)],
  ]
  return (
    <>
      {chosen.map(([filter, name, value]) =>
        value === undefined ? null : (
          <Link
            key={filter}
            to="/events"
            search={changeFilters({ [filter]: undefined })}
            activeOptions={{ exact: true }}
            className="chip chip-chosen"
          >
            <span className="sr-only">Remove the filter </span>
            <span className="text-quiet">{name}</span>
            <span className="max-w-60 truncate">{value}</span>
            <span aria-hidden="true">✕</span>
          </Link>
        ),
      )}
      <Link to="/events" activeOptions={{ exact: true }} className="chip text-quiet">
        Clear filters
      </Link>
    </>
  )
}

/**
 * The filters of the address, with what was typed in this session. The router also keeps what is unknown or not valid there; it
 * is left out here.
 */
export function useEventSearch(): EventSearch {
  const client = useQueryClient()
  const select = (search: object) => readEventSearch({ ...search })
  const { typed, ...filters } = useSearch({ from: '/events', structuralSharing: true, select })
  return { ...filters, ...client.getQueryData<TypedSearch>([TYPED, typed]) }
}

const TYPED = 'typed'

/** Keeps what was typed until the session ends, and returns its name for the address. */
function remember(client: QueryClient, typed: TypedSearch): string {
  const name = Date.now().toString(36)
  client.setQueryDefaults([TYPED], { gcTime: Number.POSITIVE_INFINITY })
  client.setQueryData<TypedSearch>([TYPED, name], typed)
  return name
}

/** Changes filters of the address. A change that the page does not show yet is kept. */
function useFilterChange(): (change: FilterChange) => void {
  const navigate = useNavigate()
  return (change) => void navigate({ to: '/events', search: changeFilters(change) })
}

/** For links: the filters of the address at the time of the click, changed. */
export function changeFilters(change: FilterChange) {
  return (search: Readonly<Record<string, unknown>>) => readEventSearch({ ...search, ...change })
}
