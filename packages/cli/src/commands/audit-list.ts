import { addToGroup } from '../add-to-group.ts'
import type { AddCommand } from '../command.ts'
import { addOperatorAction, type Typed } from '../operator/add-operator-action.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../operator/page-options.ts'
import { toTime } from '../output.ts'
import { toTableLines } from '../table.ts'

/** `oncehook audit list`: lists the audit log, newest first. */
export const addAuditListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'audit', 'list').description('List audit log entries, newest first.')
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options }: Typed<PageOptions>) => client.audit.list.query(toPage(options)),
    describe: (page) => (page.items.length === 0 ? ['The audit log is empty'] : describe(page)),
  })
}

function describe({ items, next }: Awaited<ReturnType<OperatorClient['audit']['list']['query']>>): string[] {
  const rows = items.map(({ at, by, action, reason, details }) => [
    ...[toTime(at), by, action, reason, JSON.stringify(details)],
  ])
  return [...toTableLines(['AT', 'BY', 'ACTION', 'REASON', 'DETAILS'], rows), ...describeNext(next)]
}
