import { reasonedCommand } from '../operator/reasoned-command.ts'
import { toPrintable } from '../output.ts'

/** `oncehook receipts release`: sends a parked receipt. */
export const addReceiptsReleaseCommand = reasonedCommand(['receipts', 'release'], {
  description: 'Send a parked receipt anyway; the customer may get it twice.',
  argument: ['<key>', 'receipt key, as printed by `receipts list`'],
  call: (client, { argument: key, reason }) => client.receipts.release.mutate({ key, reason }),
  describe: ({ orderId }) => [`Released: the receipt for order ${toPrintable(orderId)} is due now`],
})
