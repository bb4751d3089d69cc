import { addToGroup } from '../add-to-group.ts'
import type { AddCommand } from '../command.ts'
import { addReasonedAction } from '../operator/add-operator-action.ts'
import { toPrintable } from '../output.ts'

/** `oncehook receipts release`: sends a parked receipt. */
export const addReceiptsReleaseCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'receipts', 'release')
    .description('Send a parked receipt anyway; the customer may get it twice.')
    .argument('<key>', 'receipt key, as printed by `receipts list`')
  addReasonedAction(command, deps, {
    call: (client, { argument: key, reason }) => client.receipts.release.mutate({ key, reason }),
    describe: ({ orderId }) => [`Released: the receipt for order ${toPrintable(orderId)} is due now`],
  })
}
