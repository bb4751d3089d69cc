import type { HandlerPauses } from '../inbox/pauses/handler-pauses.ts'
import type { Handlers } from './settings/read-handlers.ts'

/** The handlers that an operator has paused, also removed ones, and then those that only their setting pauses. */
export function pausedHandlers(handlers: Handlers | undefined, byOperators: HandlerPauses['current']): string[] {
  const bySetting = [...(handlers?.values() ?? [])].filter(({ paused }) => paused).map(({ name }) => name)
  return [...new Set([...byOperators.keys(), ...bySetting])]
}
