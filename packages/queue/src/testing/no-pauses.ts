import type { UsedPauses } from '../dispatch/fresh-pauses.ts'

/** No provider is paused. */
export const NO_PAUSES: UsedPauses = { current: new Map(), refresh: () => Promise.resolve(), use: () => null }
