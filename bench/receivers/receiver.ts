import type { Db } from 'mongodb'

/** What every receiver of a run shares: the database server, a folder for files, and the secret of the signatures. */
export interface Setup {
  /** Connection string of the replica set, without a database. */
  readonly mongoUri: string
  readonly mongodPid: number
  readonly folder: string
  readonly secret: string
  /** Opens a database of the server for inspection. */
  readonly database: (name: string) => Db
}

/** A program that takes deliveries, with its own empty database. */
export interface Receiver extends AsyncDisposable {
  /** Where deliveries are posted. */
  readonly url: string
  /** The process that answers them. */
  readonly receiverPid: number
  /** The process that applies their effects, if that is another one. */
  readonly fulfilmentPid?: number | undefined
  /** Creates the orders that the next deliveries pay. */
  prepare?(orderPrefix: string, count: number): Promise<void>
  /** Resolves when every accepted event has had its effect and is marked as settled. */
  settled?(): Promise<void>
  /** For each of these events: the milliseconds from its arrival until it was settled. */
  wholeWayMs?(eventIds: readonly string[]): Promise<readonly number[]>
  /** Returns the ids whose promise was kept: the event is stored and, if that is promised, has had its effect. */
  keptOf(eventIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** Starts a receiver with its own databases, which have `run` in their names. */
export type StartReceiver = (setup: Setup, run: string) => Promise<Receiver>

/** Every receiver that stores events waits until a majority of the replica set has them in its journal. */
export const DURABLE = { w: 'majority', journal: true } as const
