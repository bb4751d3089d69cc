import { type Command, Option } from 'commander'
import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction, type Typed } from '../../operator/add-operator-action.ts'
import { readReason } from '../../operator/read-reason.ts'
import { readWhole } from '../../options/option-values.ts'

const types = ['payment.succeeded', 'payment.failed'] as const

interface TestOptions {
  readonly type: (typeof types)[number]
  readonly order?: string
  readonly amount?: number
  readonly reason?: string
}

/** `oncehook events test`: sends a test event of a provider. */
export const addEventsTestCommand: AddCommand = (program, deps) => {
  const command: Command = addToGroup(program, 'events', 'test')
    .description('Send a test event: signed, verified and stored like a delivery, but without an effect.')
    .argument('<provider>', 'provider name, as in /api/webhooks/<name>')
    .addOption(new Option('--type <type>', 'what happened to the payment').choices(types).default(types[0]))
    .option(
      '--order <id>',
      'about this order (default: one that does not exist; with `npm start`, the newest pending one)',
    )
    .option(
      '--amount <number>',
      'in minor units (default: 1000 of EUR; with `npm start`, the amount due)',
      readWhole(1, 1_000_000_000),
    )
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
  addOperatorAction(command, deps, {
    call: async (client, { argument: provider, options }: Typed<TestOptions>) =>
      client.events.sendTest.mutate({
        ...{ provider, type: options.type, reason: await readReason(options.reason, deps.context) },
        ...(options.order === undefined ? {} : { orderId: options.order }),
        ...(options.amount === undefined ? {} : { amount: options.amount }),
      }),
    describe: ({ id, eventId, state, reason }) => [
      `Stored: ${eventId} is ${state}${reason === null ? '' : ` (${reason})`}. Show it with \`events show ${id}\``,
    ],
  })
}
