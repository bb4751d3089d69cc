import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { commandGroup } from '../command-group.ts'
import { connectOperator } from '../operator/connect-operator.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operator/operator-options.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../operator/page-options.ts'
import { toTime, writeJson, writeLines } from '../output.ts'
import { toTableLines } from '../table.ts'

type Options = OperatorOptions & PageOptions

/** `oncehook audit list`: lists the audit log, newest first. */
export const addAuditListCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'audit', 'Inspect the audit log.')
    .command('list')
    .description('List audit log entries, newest first.')
    .action(async (options: Options) => {
      await listAudit(options, context)
      finish(0)
    })
  addOperatorOptions(addPageOptions(command))
}

async function listAudit(options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const page = await ask(client.audit.list.query(toPage(options)))
  if (options.json) return writeJson(context, page)
  writeLines(context, page.items.length === 0 ? ['The audit log is empty'] : describe(page))
}

function describe({ items, next }: Awaited<ReturnType<OperatorClient['audit']['list']['query']>>): string[] {
  const rows = items.map(({ at, by, action, reason, details }) => [
    ...[toTime(at), by, action, reason, JSON.stringify(details)],
  ])
  return [...toTableLines(['AT', 'BY', 'ACTION', 'REASON', 'DETAILS'], rows), ...describeNext(next)]
}
