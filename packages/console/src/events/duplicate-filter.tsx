import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'
import { Choice } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'
import { DUPLICATES, type EventSearch, toEventQuery } from './event-search.ts'
import { useFilterChange } from './use-event-search.ts'

const REFRESH_MS = 30_000

/** The filter for events that were received again, with the number of events for each choice. The other filters apply. */
export function DuplicateFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const { duplicates: _, text: __, ...others } = search
  const { data } = useQuery({
    queryKey: ['events', 'counts', others],
    queryFn: () => operator.events.counts.query(toEventQuery(others)),
    refetchInterval: REFRESH_MS,
  })
  const counts: Readonly<Record<string, number>> =
    data === undefined ? {} : { repeated: data.repeated, changed: data.changed }
  const atLeast = data?.cut === null ? '' : texts.events.orMore
  return (
    <Choice
      label={texts.events.duplicates}
      any={texts.events.anyDeliveries}
      value={search.duplicates}
      options={DUPLICATES.map((kind) => {
        const count = counts[kind]
        const text = texts.events.duplicateKinds[kind]
        return [kind, count === undefined ? text : `${text} (${texts.number(count)}${atLeast})`]
      })}
      onChoose={(duplicates) => change({ duplicates })}
    />
  )
}
