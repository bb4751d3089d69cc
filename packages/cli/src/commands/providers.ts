import type { AddCommand } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction, addReasonedAction } from '../operator/operator-command.ts'
import { toAge, toTableLines, toTime } from '../output.ts'

export const addProvidersCommands: AddCommand = (program, deps) => {
  const group = program.command('providers').description('Inspect providers and their secrets.')
  const argument = ['<provider>', 'name of the provider, as printed by `providers list`'] as const
  addOperatorAction(group.command('list').description('List providers with their deliveries and secrets.'), deps, {
    call: (client) => client.providers.list.query(),
    describe: (providers) => (providers.length === 0 ? ['No providers'] : describe(providers)),
  })
  const pause = group
    .command('pause')
    .description('Accept and store the events of a provider, but send none until it is resumed.')
  addReasonedAction(pause.argument(...argument), deps, {
    call: (client, { argument: provider, reason }) => client.providers.pause.mutate({ provider, reason }),
    describe: ({ provider }) => [`Paused: events of ${provider} are stored, and wait until it is resumed`],
  })
  const resume = group.command('resume').description('Send the events of a paused provider, the oldest first.')
  addReasonedAction(resume.argument(...argument), deps, {
    call: (client, { argument: provider, reason }) => client.providers.resume.mutate({ provider, reason }),
    describe: ({ provider }) => [`Resumed: the events of ${provider} that waited are due now`],
  })
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
  const pauses = providers.flatMap(({ name, paused }) => {
    if (paused === null) return []
    const { since, by, reason, waiting } = paused
    return [[name, toTime(since), by, reason, waiting ?? 'unknown']]
  })
  return [
    ...toTableLines(['PROVIDER', 'SCHEME', 'PATH', 'OLDEST UNSETTLED', 'DELIVERIES'], rows),
    '',
    ...(pauses.length === 0
      ? []
      : [...toTableLines(['PROVIDER', 'PAUSED SINCE', 'BY', 'REASON', 'WAITING'], pauses), '']),
    ...toTableLines(['PROVIDER', 'SECRET', 'EXPIRES', 'MATCHES', 'LAST MATCH'], secrets),
  ]
}

function describeDeliveries(deliveries: Readonly<Record<string, number>>): string {
  const outcomes = Object.entries(deliveries).map(([outcome, count]) => `${count} ${outcome}`)
  return outcomes.length === 0 ? 'none yet' : outcomes.join(', ')
}
