import { createLogger } from '@oncehook/kernel/log/logger'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { createClaims } from '../claim/claims.ts'
import { Steadiness } from '../claim/steadiness.ts'
import { CLAIM_OPTIONS } from './sample-task.ts'

/** The database of a claiming process and the handler of its tasks, as JSON in its first argument. */
export interface ClaimingOptions {
  readonly uri: string
  readonly database: string
  readonly handler: string
}

/** A round: claim up to this many events and settle them. The answer is `ClaimedInRound`. */
export interface ClaimingRound {
  readonly limit: number
}

/** What a process did in a round. Sent once at first with zeros, when the process is ready. */
export interface ClaimedInRound {
  readonly claimed: number
  /** Events that its searches returned. Those that it did not claim, another process had taken. */
  readonly found: number
}

/** Claims and settles events, a round for each message from its parent. Ends with its parent. */
async function run({ uri, database, handler }: ClaimingOptions): Promise<void> {
  const logger = createLogger({ service: 'gateway', level: 'warn' })
  const connection = createMongoConnection({
    ...{ uri: new Secret(uri), database, appName: 'claiming', maxPoolSize: 8, logger },
    monitorCommands: true,
  })
  await connection.open()
  const claims = createClaims({
    ...{ ...CLAIM_OPTIONS, handler, db: connection.db, lastsMs: 60_000, maxDelayMs: 1_000 },
    steadiness: new Steadiness(
      0,
      () => performance.now(),
      async () => undefined,
    ),
  })
  let found = 0
  connection.client.on('commandStarted', ({ commandName, command }) => {
    if (commandName !== 'update') return
    for (const { q } of command.updates) if (q.state === 'pending') found += q._id.$in.length
  })
  const answer = (claimed: number): void => {
    process.send?.({ claimed, found } satisfies ClaimedInRound)
    found = 0
  }
  process.on('disconnect', () => process.exit())
  process.on('message', async ({ limit }: ClaimingRound) => {
    const taken = await claims.claimDue(limit)
    const attempt = { ms: 1, outcome: 'applied', code: null, message: null }
    const settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } } as const
    await claims.settle(taken.map((claim) => ({ claim, settlement, attempt })))
    answer(taken.length)
  })
  answer(0)
}

const [, file, options] = process.argv
if (file === import.meta.filename && options !== undefined) await run(JSON.parse(options) as ClaimingOptions)
