import { type AddCommand, addToGroup } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction, reasonedCommand } from '../operator/operator-command.ts'
import { toAge, toPrintable, toTableLines, toTime } from '../output.ts'

export const addProvidersListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'providers', 'list')
  addOperatorAction(command.description('List providers with their deliveries and secrets.'), deps, {
    call: (client) => client.providers.list.query(),
    describe: (providers) => (providers.length === 0 ? ['No providers'] : describe(providers)),
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
    return [[name, toTime(since), toPrintable(by), toPrintable(reason), waiting ?? 'unknown']]
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

export const addProvidersPauseCommand = reasonedCommand(['providers', 'pause'], {
  description: 'Accept and store the events of a provider, but send none until it is resumed.',
  argument: ['<provider>', 'name of the provider, as printed by `providers list`'],
  call: (client, { argument: provider, reason }) => client.providers.pause.mutate({ provider, reason }),
  describe: ({ provider }) => [`Paused: events of ${provider} are stored, and wait until it is resumed`],
})

export const addProvidersResumeCommand = reasonedCommand(['providers', 'resume'], {
  description: 'Send the events of a paused provider, the oldest first.',
  argument: ['<provider>', 'name of the provider, as printed by `providers list`'],
  call: (client, { argument: provider, reason }) => client.providers.resume.mutate({ provider, reason }),
  describe: ({ provider }) => [`Resumed: the events of ${provider} that waited are due now`],
})
