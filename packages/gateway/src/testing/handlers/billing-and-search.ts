import type { HandlerSettings } from '../../handlers/handler-settings.ts'

/** Two handlers, of which the setting pauses `search`. */
export const BILLING_AND_SEARCH: ReadonlyMap<string, HandlerSettings> = new Map(
  [
    { name: 'billing', paused: false },
    { name: 'search', paused: true },
  ].map((one) => [one.name, one as HandlerSettings]),
)
