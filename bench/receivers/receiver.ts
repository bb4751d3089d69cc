import type { Db } from 'mongodb'

/** What every receiver of a run shares: the database server, a folder for files, and the secret of the signatures. */
export interface Setup {
  /** Connection string of the replica set, without a database. */
  readonly mongoUri: string
  readonly mongodPid: number
  readonly folder: string
  readonly secret: string
  /** Flags for the Node.js that runs the receiver, such as those of its profiler. */
  readonly nodeFlags: readonly string[]
  /** Opens a database of the server for looking into it. */
  readonly database: (name: string) => Db
}

/** A program that takes deliveries, with its own empty database. */
export interface Receiver extends AsyncDisposable {
  /** Where deliveries are posted. */
  readonly url: string
  /** The process that answers them. */
  readonly receiverPid: number
  /** The process that gives them their effect, where that is another one. */
  readonly fulfilmentPid?: number | undefined
  /** Makes what the deliveries to come are about. */
  prepare?(orderPrefix: string, count: number): Promise<void>
  /** Resolves when everything that was accepted has had its effect and is marked so. */
  settled?(): Promise<void>
  /** Those of the ids whose promise was kept: found stored, and with their effect where that is promised. */
  keptOf(eventIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** Starts a receiver with its own databases, which have `run` in their names. */
export type StartReceiver = (setup: Setup, run: string) => Promise<Receiver>

/** A majority of the replica set holds it, and has it in its journal: what every receiver of the benchmark waits for. */
export const DURABLE = { w: 'majority', journal: true } as const
