import { FULFILMENT } from '../inbox/event-document.ts'
import type { SentHandlers } from '../inbox/statistics/inbox-depth.ts'
import type { Handlers } from './settings/read-handlers.ts'

/** The handlers whose tasks are sent now: fulfilment and the configured ones, except for those that are paused. */
export function sentHandlers(handlers: Handlers | undefined, paused: { has(handler: string): boolean }): SentHandlers {
  const configured = [...(handlers?.values() ?? [])].filter((one) => !one.paused && !paused.has(one.name))
  return [...(paused.has(FULFILMENT) ? [] : [FULFILMENT]), ...configured.map(({ name }) => name)]
}
