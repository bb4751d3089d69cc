import type { AddCommand } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageOptions,
  describeNext,
  type PageOptions,
  type Typed,
  toPage,
} from '../operator/operator-command.ts'
import { toPrintable, toTableLines, toTime } from '../output.ts'

interface Options extends PageOptions {
  readonly provider?: string
  readonly reason?: string
}

export const addRefusedCommand: AddCommand = (program, deps) => {
  const command = program
    .command('refused')
    .description('List refused deliveries, newest first, and why they were refused.')
    .option('--provider <name>', 'to this provider')
    .option('--reason <code>', 'with this error code, or this reason, such as signature_mismatch')
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options: { provider, reason, ...page } }: Typed<Options>) =>
      client.refusals.list.query({ ...toPage(page), provider, reason }),
    describe: (page) => [...(page.items.length === 0 ? ['No refused deliveries'] : describe(page)), ...notKept(page)],
  })
}

type Page = Awaited<ReturnType<OperatorClient['refusals']['list']['query']>>

const HEAD = ['AT', 'PROVIDER', 'REASON', 'STATUS', 'NETWORK', 'BYTES', 'TRIED', 'CAUSE']

function describe({ items, next }: Page): string[] {
  const rows = items.map((item) => [
    ...[toTime(item.at), item.provider, item.why ?? item.reason, item.status, item.network, item.bytes],
    ...[item.secretIds.join(', ') || null, describeCause(item)],
  ])
  return [...toTableLines(HEAD, rows), ...describeNext(next)]
}

function describeCause({ causes: [first], message }: Page['items'][number]): string {
  if (first === undefined) return message
  return first.proved ? first.message : `Possibly: ${first.message}`
}

function notKept({ notKept: counts }: Page): string[] {
  return counts.map(({ provider, reason, why, count, lastAt }) =>
    toPrintable(`Not kept: ${count} more of ${provider} (${why ?? reason}), the last at ${toTime(lastAt)}`),
  )
}
