import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction, type Typed } from '../../operator/add-operator-action.ts'
import type { OperatorClient } from '../../operator/operator-client.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../../operator/page-options.ts'
import { toTime } from '../../output.ts'
import { toTableLines } from '../../table.ts'

/** `oncehook replays list`: lists the replays of all operators, newest first. */
export const addReplaysListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'replays', 'list').description('List replays of all operators, newest first.')
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options }: Typed<PageOptions>) => client.replays.list.query(toPage(options)),
    describe: (page) => (page.items.length === 0 ? ['No replays'] : describe(page)),
  })
}

const HEAD = ['REPLAY', 'STARTED', 'BY', 'STATE', 'MATCHED', 'DUE AGAIN', 'SETTLED', 'DEAD AGAIN', 'REASON']

function describe({ items, next }: Awaited<ReturnType<OperatorClient['replays']['list']['query']>>): string[] {
  const rows = items.map(({ replayId, startedAt, by, state, matched, started, done, failed, reason }) => [
    ...[replayId, toTime(startedAt), by, state, matched],
    ...[started ?? NOT_COUNTED, done ?? NOT_COUNTED, failed ?? NOT_COUNTED, reason],
  ])
  return [...toTableLines(HEAD, rows), ...describeNext(next)]
}

const NOT_COUNTED = 'counting took too long'
