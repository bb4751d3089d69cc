import { useNavigate } from '@tanstack/react-router'
import { Choice } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'
import { type EventSearch, TESTS, withFilter } from './event-search.ts'

/** The filter for test events: these only, or all others. */
export function TestFilter({ search }: { readonly search: EventSearch }) {
  const navigate = useNavigate()
  return (
    <Choice
      label={texts.test.filter}
      any={texts.test.any}
      value={search.tests}
      options={TESTS.map((kind) => [kind, texts.test.kinds[kind]])}
      onChoose={(tests) => void navigate({ to: '/events', search: withFilter(search, { tests }) })}
    />
  )
}
