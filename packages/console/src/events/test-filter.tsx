import { Choice } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'
import { type EventSearch, TESTS } from './event-search.ts'
import { useFilterChange } from './use-event-search.ts'

/** The filter for test events: these only, or all others. */
export function TestFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  return (
    <Choice
      label={texts.test.filter}
      any={texts.test.any}
      value={search.tests}
      options={TESTS.map((kind) => [kind, texts.test.kinds[kind]])}
      onChoose={(tests) => change({ tests })}
    />
  )
}
