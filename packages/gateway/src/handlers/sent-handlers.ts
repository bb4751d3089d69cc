import type { SentHandlers } from '../inbox/statistics/inbox-depth.ts'
import { FULFILMENT, type Handlers } from './settings/read-handlers.ts'

/** The handlers whose tasks are sent now: fulfilment and the configured ones, except for those that are paused. */
export function sentHandlers(handlers: Handlers | undefined, paused: { has(handler: string): boolean }): SentHandlers {
  const configured = [...(handlers?.values() ?? [])].filter((one) => !one.paused && !paused.has(one.name))
  return [...(paused.has(FULFILMENT) ? [] : [null]), ...configured.map(({ name }) => name)]
}
