import type { InFlightFigures } from '../in-flight/measure-in-flight.ts'
import type { IdleFigures } from '../measure-idle.ts'
import type { WholeFigures } from '../whole/measure-whole.ts'
import stored from './measured.json' with { type: 'json' }

/** Everything that a run measured, and on which machine. */
export interface Measured {
  readonly day: string
  readonly machine: string
  readonly whole: readonly WholeFigures[]
  readonly idle: readonly IdleFigures[]
  readonly inFlight: InFlightFigures
}

/** The measurements that the simulation and the documents use. `npm run bench:scale -- --save` replaces them. */
export const MEASURED = stored as Measured
