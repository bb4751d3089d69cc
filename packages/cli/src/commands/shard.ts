import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { CommandFailure, UsageError } from '../exit-code.ts'
import { writeJson, writeLines } from '../output.ts'
import type { Cluster } from '../shard/cluster.ts'
import type { ShardingStep } from '../shard/plan-sharding.ts'
import { toTableLines } from '../table.ts'

interface Options {
  readonly plan?: boolean
  readonly apply?: boolean
  readonly json?: boolean
}

const notes = `
Reads MONGODB_URI, the URI of a mongos with an administrator, and GATEWAY_DB and FULFILMENT_DB if they are not the
defaults. The services may run meanwhile, except for gateways of release 0.1.0. After an interruption, run the same
command again: it does not repeat finished steps.`

/** `oncehook shard`: spreads events and orders over the shards of a cluster. */
export const addShardCommand: AddCommand = (program, { context, finish }) => {
  program
    .command('shard')
    .description('Spread events and orders over the shards of a MongoDB cluster.')
    .option('--plan', 'only print what is done, what is left to do, and what is in the way')
    .option('--apply', 'do what is left to do, step by step')
    .option('--json', 'print one JSON document')
    .addHelpText('after', notes)
    .action(async (options: Options) => finish(await shard(options, context)))
}

/** Resolves to 0 if the plan was printed, or if everything is sharded. */
async function shard(options: Options, context: CliContext): Promise<0 | 1> {
  if (options.plan === options.apply) throw new UsageError('Give --plan or --apply')
  const uri = context.readEnv('MONGODB_URI')
  if (uri === undefined || uri.trim() === '') throw new UsageError('MONGODB_URI is not set')
  // Loaded only now: no other command needs the driver.
  const { explained, openCluster } = await import('../shard/cluster.ts')
  await using cluster = await openCluster({
    uri,
    gatewayDb: context.readEnv('GATEWAY_DB') || 'oncehook_gateway',
    fulfilmentDb: context.readEnv('FULFILMENT_DB') || 'oncehook_fulfilment',
  })
  try {
    return options.apply === true ? await apply(cluster, options, context) : await plan(cluster, options, context)
  } catch (error) {
    throw explained(error)
  }
}

async function plan(cluster: Cluster, options: Options, context: CliContext): Promise<0 | 1> {
  const { observeCluster } = await import('../shard/observe-cluster.ts')
  const { planSharding } = await import('../shard/plan-sharding.ts')
  const state = await observeCluster(cluster)
  show(state === null ? null : planSharding(state), options, context)
  return 0
}

async function apply(cluster: Cluster, options: Options, context: CliContext): Promise<0 | 1> {
  const { observeCluster } = await import('../shard/observe-cluster.ts')
  const { planSharding } = await import('../shard/plan-sharding.ts')
  const { applyStep } = await import('../shard/apply-step.ts')
  const applied = new Set<string>()
  for (;;) {
    const state = await observeCluster(cluster)
    const steps = state === null ? null : planSharding(state)
    const next = steps?.find((step) => step.state === 'open')
    if (state === null || steps === null || next === undefined) {
      show(steps, options, context)
      return steps?.every((step) => step.state === 'done') ? 0 : 1
    }
    if (applied.has(next.name))
      throw new CommandFailure(`${next.collection}: nothing refused to ${next.does}, but it is not done`)
    context.warn(`${next.collection}: ${next.does}\n`)
    await applyStep(next.name, { cluster, state, report: (line) => context.warn(`  ${line}\n`) })
    applied.add(next.name)
  }
}

const NO_MONGOS =
  'The server of MONGODB_URI is no mongos, so there is nothing to shard. One replica set needs none of these steps.'

function show(steps: readonly ShardingStep[] | null, { json }: Options, context: CliContext): void {
  if (json) writeJson(context, { isSharded: steps !== null, steps: steps ?? [] })
  else writeLines(context, steps === null ? [NO_MONGOS] : describe(steps))
}

function describe(steps: readonly ShardingStep[]): string[] {
  const rows = steps.map(({ state, collection, does }) => [state, collection, does])
  const obstacles = steps.flatMap(({ collection, does, why }) =>
    why === null ? [] : [`${collection}: cannot ${does}: ${why}`],
  )
  return [...toTableLines(['STATE', 'COLLECTION', 'STEP'], rows), ...obstacles]
}
