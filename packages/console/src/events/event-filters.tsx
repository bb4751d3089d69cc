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
  readTyped,
  type TypedSearch,
  withFilter,
} from './event-search.ts'

/** The filters of the list: the usual ones in a row, the others in a menu, and what is chosen. Each change is in the address at once. */
export function EventFilters({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  return (
    <search className="mt-1 mb-2 block">
      <div className="flex flex-wrap items-center gap-2">
        <FindBox key={`${search.find} ${search.text}`} search={search} />
        <StateChips search={search} />
        <ProviderFilter as={Choice} chosen={search.provider} onChoose={(provider) => change({ provider })} />
        <TypeFilter search={search} />
        <TimeFilter search={search} />
        <Menu text={texts.events.moreFilters}>
          <OtherFilters search={search} />
        </Menu>
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-1">
        <HandlerFilter chosen={search.handler} onChoose={(handler) => change({ handler })} />
        <Chosen search={search} />
      </div>
    </search>
  )
}

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
        const typed = new FormData(event.currentTarget)
        const where = typed.get('in') === 'bodies' ? 'text' : 'find'
        change({ typed: remember(client, readTyped(typed.get('find'), where)) })
      }}
    >
      <input
        ref={input}
        name="find"
        type="search"
        defaultValue={search.find ?? search.text ?? ''}
        placeholder={texts.events.search}
        aria-label={texts.events.search}
        autoComplete="off"
        spellCheck={false}
        className="input min-w-40 grow"
      />
      <label
        className={`flex items-center gap-1 whitespace-nowrap ${mayReadBodies ? '' : 'text-quiet'}`}
        title={mayReadBodies ? texts.events.inBodiesHint : texts.why.bodies}
      >
        <input
          type="checkbox"
          name="in"
          value="bodies"
          disabled={!mayReadBodies}
          defaultChecked={search.text !== undefined}
        />
        {texts.events.inBodies}
      </label>
    </form>
  )
}

function StateChips({ search }: { readonly search: EventSearch }) {
  return (
    <nav aria-label={texts.events.state} className="chips max-w-full overflow-x-auto">
      {[undefined, ...EVENT_STATES].map((state) => (
        <Link
          key={state ?? ''}
          to="/events"
          search={changeFilters({ state, reason: undefined })}
          activeOptions={{ exact: true }}
          activeProps={{}}
          className="chip"
          aria-current={search.state === state ? 'true' : undefined}
        >
          {state === undefined ? texts.events.anyState : texts.states[state]}
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
  const options = [...new Set([...seen, ...(type === undefined ? [] : [type])])].toSorted()
  return (
    <Choice
      label={texts.events.type}
      any={texts.events.anyType}
      chosen={type}
      options={options.map((one) => [one, one])}
      onChoose={(chosen) => change({ type: chosen })}
    />
  )
}

const MINUTE_MS = 60_000
const OWN = 'own'

/** The filter for the time of receipt. The menu of the other filters has the exact times. */
function TimeFilter({ search: { from, to } }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const hasTimes = from !== undefined || to !== undefined
  const choose = (span: string | undefined): void => {
    if (span === OWN) return
    change({ from: span && new Date(Date.now() - Number(span) * MINUTE_MS).toISOString(), to: undefined })
  }
  const own = hasTimes ? [[OWN, texts.events.ownTime] as const] : []
  return (
    <Choice
      label={texts.events.time}
      any={texts.events.anyTime}
      chosen={hasTimes ? OWN : undefined}
      options={[...own, ...Object.entries(texts.events.timeSpans)]}
      onChoose={choose}
    />
  )
}

function OtherFilters({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const { from, to, reason } = search
  const counts = Object.entries(useOverview().data?.deadByReason ?? {})
  return (
    <div className="grid gap-3">
      <ChipChoice
        label={texts.events.reason}
        any={texts.events.anyReason}
        chosen={reason}
        options={counts.map(([one, count]) => [one, `${one} (${texts.number(count)})`])}
        onChoose={(chosen) => change(chosen === undefined ? { reason: chosen } : { reason: chosen, state: 'dead' })}
      />
      <ChipChoice
        label={texts.events.duplicates}
        any={texts.events.anyDeliveries}
        chosen={search.duplicates}
        options={Object.entries(texts.events.duplicateKinds)}
        onChoose={(duplicates) => change({ duplicates })}
      />
      <ChipChoice
        label={texts.test.filter}
        any={texts.test.any}
        chosen={search.tests}
        options={Object.entries(texts.test.kinds)}
        onChoose={(tests) => change({ tests })}
      />
      <TimeField label={texts.events.from} at={from} onChange={(at) => change({ from: at })} />
      <TimeField label={texts.events.to} at={to} onChange={(at) => change({ to: at })} />
    </div>
  )
}

/** A time in the format of the browser's field: in the viewer's time zone, without its name. */
function toField(at: string | undefined): string {
  if (at === undefined) return ''
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

function TimeField(props: {
  readonly label: string
  readonly at: string | undefined
  readonly onChange: (at: string | undefined) => void
}) {
  return (
    <label className="grid grid-cols-[4rem_1fr] items-center">
      {props.label}
      <input
        type="datetime-local"
        className="input"
        value={toField(props.at)}
        onChange={({ target }) => {
          props.onChange(target.value === '' ? undefined : new Date(target.value).toISOString())
        }}
      />
    </label>
  )
}

/** What is chosen, beside what the tabs show. A click removes one. */
function Chosen({ search }: { readonly search: EventSearch }) {
  if (Object.keys(search).length === 0) return null
  const { provider, type, reason, order, duplicates, tests, from, to, find, text } = search
  const chosen: readonly (readonly [filter: keyof FilterChange, name: string, value: string | undefined])[] = [
    ['typed', texts.events.searched, find ?? text],
    ['provider', texts.events.provider, provider],
    ['type', texts.events.type, type],
    ['reason', texts.events.reason, reason],
    ['order', texts.events.order, order],
    ['duplicates', '', duplicates && texts.events.duplicateKinds[duplicates]],
    ['tests', '', tests && texts.test.kinds[tests]],
    ['from', texts.events.from, from && texts.time.local(new Date(from))],
    ['to', texts.events.to, to && texts.time.local(new Date(to))],
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
            <span className="sr-only">{texts.events.remove} </span>
            <span className="text-quiet">{name}</span>
            <span className="max-w-60 truncate">{value}</span>
            <span aria-hidden="true">✕</span>
          </Link>
        ),
      )}
      <Link to="/events" activeOptions={{ exact: true }} className="chip text-quiet">
        {texts.events.clear}
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
function remember(client: QueryClient, typed: TypedSearch | null): string | undefined {
  if (typed === null) return undefined
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
  return (search: Readonly<Record<string, unknown>>) => withFilter(readEventSearch(search), change)
}
