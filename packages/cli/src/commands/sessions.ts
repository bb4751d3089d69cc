// `oncehook sessions`: lists who is signed in with a browser, and ends sessions.

import { type AddCommand, addToGroup } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addOperatorAction, reasonedCommand } from '../operator/operator-command.ts'
import { toPrintable, toTableLines, toTime } from '../output.ts'

type Sessions = Awaited<ReturnType<OperatorClient['sessions']['list']['query']>>

export const addSessionsListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'sessions', 'list')
  addOperatorAction(command.description('List sessions: yours, or those of everybody with the role operate.'), deps, {
    call: (client) => client.sessions.list.query(),
    describe: (sessions) => (sessions.length === 0 ? ['No sessions'] : describe(sessions)),
  })
}

function describe(sessions: Sessions): string[] {
  const rows = sessions.map(({ id, operator, openedAt, usedAt, endsAt }) => [
    ...[id, toPrintable(operator), toTime(openedAt), toTime(usedAt), toTime(endsAt)],
  ])
  return toTableLines(['SESSION', 'OPERATOR', 'OPENED', 'LAST USED', 'ENDS'], rows)
}

const describeEnd = ({ ended }: { readonly ended: number }): string[] => [
  ended === 0 ? 'No session ended: none has this name, or it is not yours' : `Ended: ${ended}`,
]

export const addSessionsEndCommand = reasonedCommand(['sessions', 'end'], {
  description: 'End a session: its browser must sign in again.',
  argument: ['<session>', 'session, as printed by `sessions list`'],
  call: (client, { argument: id, reason }) => client.sessions.end.mutate({ id, reason }),
  describe: describeEnd,
})

export const addSessionsEndAllCommand = reasonedCommand(['sessions', 'end-all'], {
  description: 'End all sessions of an operator.',
  argument: ['<operator>', 'name of the operator, as printed by `sessions list`'],
  call: (client, { argument: operator, reason }) => client.sessions.end.mutate({ operator, reason }),
  describe: describeEnd,
})
