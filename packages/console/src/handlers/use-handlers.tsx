// The handlers for every part of the page that names them, and the filter of events by handler.

import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { ChipChoice, type FilterValue } from '../parts/choice.tsx'

export type ListedHandler = Answers['handlers']['list'][number]

// Counting the tasks costs the gateway two searches of an index, which a long backlog makes slow.
const REFRESH_MS = 30_000

/** The list is empty if none can be configured. */
export function useHandlers(refreshMs = REFRESH_MS) {
  return useLive(['handlers'], () => operator.handlers.list.query(), refreshMs)
}

/** Whether it is one of the configured handlers, or was: neither the built-in one nor nobody. */
export function isConfigured(handler: string): boolean {
  return handler !== 'fulfilment' && handler !== ''
}

/** The filter for a handler. Nothing without handlers. */
export function HandlerFilter(filter: FilterValue) {
  const { data = [] } = useHandlers()
  if (data.length === 0 && filter.chosen === undefined) return null
  const options = data.map(({ name }) => [name, name] as const)
  return <ChipChoice label="Handler" any="All handlers" options={options} {...filter} />
}
