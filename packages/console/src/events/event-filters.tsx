import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { useMayDo } from '../api/use-may-do.ts'
import { useKeys } from '../frame/use-keys.ts'
import { HandlerFilter } from '../handlers/handler-filter.tsx'
import { ChipChoice } from '../parts/chip-choice.tsx'
import { ProviderFilter } from '../providers/provider-filter.tsx'
import { texts } from '../texts/texts.ts'
import { DuplicateFilter } from './duplicate-filter.tsx'
import { EVENT_STATES, type EventSearch } from './event-search.ts'
import { useOverview } from './overview-strip.tsx'
import { TestFilter } from './test-filter.tsx'
import { TimeFilter } from './time-filter.tsx'
import { changeFilters, useFilterChange } from './use-event-search.ts'

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
      <DuplicateFilter search={search} />
      <TestFilter search={search} />
      <TimeFilter search={search} />
      {hasFilter && (
        <Link to="/events" className="chip">
          {texts.events.clear}
        </Link>
      )}
    </search>
  )
}

function FindBox({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const input = useRef<HTMLInputElement>(null)
  const mayReadBodies = useMayDo('bodies')
  useKeys({ '/': () => input.current?.focus() })
  return (
    <form
      className="flex grow basis-72 flex-wrap items-center gap-2 sm:max-w-xl sm:flex-nowrap md:basis-96"
      onSubmit={(event) => {
        event.preventDefault()
        const typed = new FormData(event.currentTarget)
        const name = typed.get('in') === 'bodies' ? 'text' : 'find'
        change({ find: undefined, text: undefined, [name]: String(typed.get('find') ?? '') })
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

/** The names of a list, and the chosen name even if the list does not contain it. */
function withChosen(names: readonly string[], chosen: string | undefined): string[] {
  return chosen === undefined || names.includes(chosen) ? [...names] : [...names, chosen]
}

function ReasonFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const counts = new Map(Object.entries(useOverview().data?.deadByReason ?? {}))
  const reasons = withChosen([...counts.keys()], search.reason)
  if (reasons.length === 0) return null
  return (
    <ChipChoice
      label={texts.events.reason}
      any={texts.events.anyReason}
      chosen={search.reason}
      options={reasons.map((reason) => {
        const count = counts.get(reason)
        return [reason, count === undefined ? reason : `${reason} (${texts.number(count)})`]
      })}
      onChoose={(reason) => change(reason === undefined ? { reason } : { reason, state: 'dead' })}
    />
  )
}
