import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { commandGroup } from '../command-group.ts'
import { connectOperator } from '../operator/connect-operator.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operator/operator-options.ts'
import { toAge, toTime, writeJson, writeLines } from '../output.ts'
import { toTableLines } from '../table.ts'

/** `oncehook providers list`: lists providers with their deliveries and secrets. */
export const addProvidersListCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'providers', 'Inspect providers and their secrets.')
    .command('list')
    .description('List providers with their deliveries and secrets.')
    .action(async (options: OperatorOptions) => {
      await listProviders(options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function listProviders(options: OperatorOptions, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const providers = await ask(client.providers.list.query())
  if (options.json) return writeJson(context, providers)
  writeLines(context, providers.length === 0 ? ['No providers'] : describe(providers))
}

function describe(providers: Awaited<ReturnType<OperatorClient['providers']['list']['query']>>): string[] {
  const rows = providers.map(({ name, scheme, path, deliveries, oldestUnsettledSeconds }) => [
    ...[name, scheme, path, toAge(oldestUnsettledSeconds), describeDeliveries(deliveries)],
  ])
  const secrets = providers.flatMap(({ name, secrets: own }) =>
    own.map(({ id, notAfter, lastMatchedAt, matches }) => [
      ...[name, id, notAfter === null ? 'never' : toTime(notAfter), matches, toTime(lastMatchedAt)],
    ]),
  )
  return [
    ...toTableLines(['PROVIDER', 'SCHEME', 'PATH', 'OLDEST UNSETTLED', 'DELIVERIES'], rows),
    '',
    ...toTableLines(['PROVIDER', 'SECRET', 'EXPIRES', 'MATCHES', 'LAST MATCH'], secrets),
  ]
}

function describeDeliveries(deliveries: Readonly<Record<string, number>>): string {
  const outcomes = Object.entries(deliveries).map(([outcome, count]) => `${count} ${outcome}`)
  return outcomes.length === 0 ? 'none yet' : outcomes.join(', ')
}
