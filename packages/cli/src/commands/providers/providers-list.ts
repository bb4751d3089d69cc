import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction } from '../../operator/add-operator-action.ts'
import type { OperatorClient } from '../../operator/operator-client.ts'
import { toAge, toPrintable, toTime } from '../../output.ts'
import { toTableLines } from '../../table.ts'

/** `oncehook providers list`: lists providers with their deliveries and secrets. */
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
