import type { DispatcherDeps } from '../dispatch/dispatcher.ts'

/** No provider is paused. */
export const NO_PAUSES: DispatcherDeps['pauses'] = { current: new Map(), refresh: () => Promise.resolve() }
