// The handlers for every part of the page that names them, and the filter of events by handler.

import { useQuery } from '@tanstack/react-query'
import { type Answers, operator } from '../api/operator-client.ts'
import { ChipChoice } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'

/** A handler with its settings, its pause and the numbers of its tasks. */
export type ListedHandler = Answers['handlers']['list'][number]

// Counting the tasks costs the gateway two searches of an index, which a long backlog makes slow.
const REFRESH_MS = 30_000

/** The handlers, kept up to date for every component that shows them. The list is empty if none can be configured. */
export function useHandlers(refreshMs = REFRESH_MS) {
  return useQuery({
    queryKey: ['handlers'],
    queryFn: () => operator.handlers.list.query(),
    refetchInterval: refreshMs,
  })
}

/** Whether it is one of the configured handlers, or was: neither the built-in one nor nobody. */
export function isConfigured(handler: string): boolean {
  return handler !== 'fulfilment' && handler !== ''
}

/** The filter for a handler: each that is listed, and the chosen one even if it is not. Nothing without handlers. */
export function HandlerFilter(props: {
  readonly chosen: string | undefined
  readonly onChoose: (handler: string | undefined) => void
}) {
  const { chosen, onChoose } = props
  const { data = [] } = useHandlers()
  const names = new Set([...data.map(({ name }) => name), ...(chosen === undefined ? [] : [chosen])])
  if (names.size === 0) return null
  return (
    <ChipChoice
      label={texts.handlers.handler}
      any={texts.handlers.any}
      chosen={chosen}
      options={[...names].map((name) => [name, name])}
      onChoose={onChoose}
    />
  )
}
