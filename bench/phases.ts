import type { Row } from './row.ts'
import { ACCEPT_ROW } from './rows/accept.ts'
import { CATCH_UP_ROW } from './rows/catch-up.ts'
import { DUPLICATES_ROW } from './rows/duplicates.ts'
import { FORGED_ROW } from './rows/forged.ts'
import { GROWTH_ROW } from './rows/growth.ts'
import { HANDLERS_ROW } from './rows/handlers.ts'
import { HIGHEST_RATE_ROW } from './rows/highest-rate.ts'
import { MEMORY_ROW } from './rows/memory.ts'
import { ONE_CONNECTION_ROW } from './rows/one-connection.ts'
import { SETTLE_ROW } from './rows/settle.ts'
import { START_ROW } from './rows/start.ts'
import { STEADY_RATE_ROW } from './rows/steady-rate.ts'

/** Rows whose trials run in turn, round after round. */
export interface Phase {
  readonly rows: readonly Row[]
  /** The number of quiet rounds to measure. If it is 0, this form leaves the phase out. */
  readonly rounds: PerForm
  /** No round begins if it would end after this time, assuming that it takes as long as the previous one. */
  readonly minutes: PerForm
}

/** What differs between `npm run bench` and `npm run bench:full`. */
interface PerForm {
  readonly short: number
  readonly full: number
}

/** All rows, in the order in which they are measured. Those that store much data come last. */
export const PHASES: readonly Phase[] = [
  {
    rows: [ACCEPT_ROW, STEADY_RATE_ROW, DUPLICATES_ROW, SETTLE_ROW, ONE_CONNECTION_ROW],
    rounds: { short: 3, full: 5 },
    minutes: { short: 5, full: 11 },
  },
  { rows: [HANDLERS_ROW], rounds: { short: 0, full: 2 }, minutes: { short: 1, full: 1 } },
  { rows: [START_ROW], rounds: { short: 2, full: 5 }, minutes: { short: 0.4, full: 0.6 } },
  { rows: [HIGHEST_RATE_ROW], rounds: { short: 0, full: 3 }, minutes: { short: 1, full: 2.7 } },
  { rows: [FORGED_ROW], rounds: { short: 0, full: 3 }, minutes: { short: 0.5, full: 1.1 } },
  { rows: [CATCH_UP_ROW], rounds: { short: 0, full: 3 }, minutes: { short: 1, full: 2.2 } },
  // The first round fills the store. Each of the others takes a quarter of that time.
  { rows: [GROWTH_ROW], rounds: { short: 0, full: 3 }, minutes: { short: 1, full: 2.8 } },
  { rows: [MEMORY_ROW], rounds: { short: 0, full: 1 }, minutes: { short: 0.5, full: 3.5 } },
]
