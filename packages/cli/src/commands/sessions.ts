// `oncehook sessions`: lists who is signed in with a browser, and ends sessions.

import type { AddCommand } from '../command.ts'
import { addOperatorAction, addReasonedAction } from '../operator/operator-command.ts'
import { toTableLines, toTime } from '../output.ts'

const HEAD = ['SESSION', 'OPERATOR', 'OPENED', 'LAST USED', 'ENDS']

export const addSessionsCommands: AddCommand = (program, deps) => {
  const group = program.command('sessions').description('Inspect and end sessions of browsers.')
  const list = group.command('list')
  addOperatorAction(list.description('List sessions: yours, or those of everybody with the role operate.'), deps, {
    call: (client) => client.sessions.list.query(),
    describe(sessions) {
      const rows = sessions.map(({ id, operator, openedAt, usedAt, endsAt }) => [
        ...[id, operator, toTime(openedAt), toTime(usedAt), toTime(endsAt)],
      ])
      return rows.length === 0 ? ['No sessions'] : toTableLines(HEAD, rows)
    },
  })
  const end = group.command('end').description('End a session: its browser must sign in again.')
  addReasonedAction(end.argument('<session>', 'session, as printed by `sessions list`'), deps, {
    call: (client, { argument: id, reason }) => client.sessions.end.mutate({ id, reason }),
    describe: describeEnd,
  })
  const endAll = group.command('end-all').description('End all sessions of an operator.')
  addReasonedAction(endAll.argument('<operator>', 'name of the operator, as printed by `sessions list`'), deps, {
    call: (client, { argument: operator, reason }) => client.sessions.end.mutate({ operator, reason }),
    describe: describeEnd,
  })
}

function describeEnd({ ended }: { readonly ended: number }): string[] {
  return [ended === 0 ? 'No session ended: none has this name, or it is not yours' : `Ended: ${ended}`]
}
