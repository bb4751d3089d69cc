// The filters of the list of events. The address bar has them: a filter reads its value there and changes it there, so that a
// link and the button Back show the same list. Of what is typed into the search box, the address has a name only, which means
// nothing outside this session: the text can name a person, and addresses are kept in histories and sent to colleagues.

import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useMayDo } from '../api/session.ts'
import { useKeys } from '../frame/use-keys.ts'
import { HandlerFilter } from '../handlers/use-handlers.tsx'
import { useOverview } from '../overview/use-overview.ts'
import { ChipChoice, Choice } from '../parts/choice.tsx'
import { ProviderFilter } from '../providers/use-providers.tsx'
import { texts } from '../texts/texts.ts'
import {
  EVENT_STATES,
  type EventSearch,
  type FilterChange,
  readEventSearch,
  readTyped,
  type TypedSearch,
  withFilter,
} from './event-search.ts'

/** The filters of the list. Each change is in the address bar at once. */
export function EventFilters({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const hasFilter = Object.keys(search).length > 0
  return (
    <search className="my-2 flex flex-wrap items-center gap-x-4 gap-y-2">
      <FindBox key={`${search.find} ${search.text}`} search={search} />
      <StateChips search={search} />
      <span className="basis-full max-sm:hidden" />
      <ProviderFilter chosen={search.provider} onChoose={(provider) => change({ provider })} />
      <HandlerFilter chosen={search.handler} onChoose={(handler) => change({ handler })} />
      <ReasonFilter search={search} />
      <Choice
        label={texts.events.duplicates}
        any={texts.events.anyDeliveries}
        chosen={search.duplicates}
        options={Object.entries(texts.events.duplicateKinds)}
        onChoose={(duplicates) => change({ duplicates })}
      />
      <Choice
        label={texts.test.filter}
        any={texts.test.any}
        chosen={search.tests}
        options={Object.entries(texts.test.kinds)}
        onChoose={(tests) => change({ tests })}
      />
      <TimeFilter search={search} />
      {hasFilter && (
        <Link to="/events" activeOptions={{ exact: true }} className="chip">
          {texts.events.clear}
        </Link>
      )}
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
      className="flex grow basis-72 flex-wrap items-center gap-2 sm:max-w-xl sm:flex-nowrap md:basis-96"
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
        className="input min-w-48 grow"
      />
      <label
        className={`flex items-center gap-1 ${mayReadBodies ? '' : 'text-quiet'}`}
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
  const chips = [undefined, ...EVENT_STATES]
  return (
    <nav aria-label={texts.events.state} className="flex flex-wrap">
      {chips.map((state) => (
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

function ReasonFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const counts = Object.entries(useOverview().data?.deadByReason ?? {})
  if (counts.length === 0 && search.reason === undefined) return null
  return (
    <ChipChoice
      label={texts.events.reason}
      any={texts.events.anyReason}
      chosen={search.reason}
      options={counts.map(([reason, count]) => [reason, `${reason} (${texts.number(count)})`])}
      onChoose={(reason) => change(reason === undefined ? { reason } : { reason, state: 'dead' })}
    />
  )
}

const MINUTE_MS = 60_000
const OWN = 'own'

/** The filter for the time of receipt: usual spans, or two times in the viewer's zone. */
function TimeFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const hasTimes = search.from !== undefined || search.to !== undefined
  const [isOwn, setIsOwn] = useState(hasTimes)
  const part = useRef<HTMLDivElement>(null)
  // Other parts of the page set and clear the times as well. The fields stay while somebody types into one of them.
  useEffect(() => {
    if (hasTimes || !part.current?.contains(document.activeElement)) setIsOwn(hasTimes)
  }, [hasTimes])
  const show = (from: string | undefined, to: string | undefined): void => change({ from, to })
  const choose = (span: string | undefined): void => {
    setIsOwn(span !== undefined)
    if (span === OWN) return
    show(span === undefined ? undefined : new Date(Date.now() - Number(span) * MINUTE_MS).toISOString(), undefined)
  }
  return (
    <div ref={part} className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <fieldset className="flex flex-wrap">
        <legend className="sr-only">{texts.events.time}</legend>
        <SpanChip text={texts.events.anyTime} isCurrent={!isOwn} onChoose={() => choose(undefined)} />
        {Object.entries(texts.events.timeSpans).map(([minutes, text]) => (
          <SpanChip key={minutes} text={text} onChoose={() => choose(minutes)} />
        ))}
        <SpanChip text={texts.events.ownTime} isCurrent={isOwn} onChoose={() => choose(OWN)} />
      </fieldset>
      {isOwn && (
        <>
          <TimeField label={texts.events.from} at={search.from} onChange={(from) => show(from, search.to)} />
          <TimeField label={texts.events.to} at={search.to} onChange={(to) => show(search.from, to)} />
        </>
      )}
    </div>
  )
}

function SpanChip(props: { readonly text: string; readonly isCurrent?: boolean; readonly onChoose: () => void }) {
  const { text, isCurrent = false, onChoose } = props
  return (
    <button type="button" className="chip" aria-current={isCurrent ? 'true' : undefined} onClick={onChoose}>
      {text}
    </button>
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
    <label className="flex items-center gap-1">
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
