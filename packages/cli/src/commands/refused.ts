import type { AddCommand } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addPageAction } from '../operator/operator-command.ts'
import { toPrintable, toTime } from '../output.ts'

type Page = Awaited<ReturnType<OperatorClient['refusals']['list']['query']>>

export const addRefusedCommand: AddCommand = (program, deps) => {
  const command = program
    .command('refused')
    .description('List refused deliveries, newest first, and why they were refused.')
    .option('--provider <name>', 'to this provider')
    .option('--reason <code>', 'with this error code, or this reason, such as signature_mismatch')
  addPageAction<Page, { readonly provider?: string; readonly reason?: string }>(command, deps, {
    call: (client, page, { provider, reason }) => client.refusals.list.query({ ...page, provider, reason }),
    none: 'No refused deliveries',
    head: ['AT', 'PROVIDER', 'REASON', 'STATUS', 'NETWORK', 'BYTES', 'TRIED', 'CAUSE'],
    row: (item) => [
      ...[toTime(item.at), item.provider, item.why ?? item.reason, item.status, item.network, item.bytes],
      ...[item.secretIds.join(', ') || null, describeCause(item)],
    ],
    notes: ({ notKept }) =>
      notKept.map(({ provider, reason, why, count, lastAt }) =>
        toPrintable(`Not kept: ${count} more of ${provider} (${why ?? reason}), the last at ${toTime(lastAt)}`),
      ),
  })
}

function describeCause({ causes: [first], message }: Page['items'][number]): string {
  if (first === undefined) return message
  return first.proved ? first.message : `Possibly: ${first.message}`
}
