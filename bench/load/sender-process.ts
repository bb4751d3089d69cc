import type { LoadPlan, LoadReport } from './load-report.ts'
import { sendClosed } from './send-closed.ts'
import { sendOpen } from './send-open.ts'
import type { SenderOrder } from './sender.ts'
import { type SignedDelivery, signDeliveries } from './signed-deliveries.ts'

// A process of its own, so that what sending costs never shows on the side that is measured.

let url = ''
let deliveries: SignedDelivery[] = []

process.on('disconnect', () => process.exit(0))
process.on('message', (order: SenderOrder) => {
  void obey(order).then((answer) => process.send?.(answer))
})
process.send?.('ready')

async function obey(order: SenderOrder): Promise<'signed' | LoadReport> {
  if ('send' in order) return send(order.send)
  url = order.sign.url
  deliveries = signDeliveries(order.sign, Date.now())
  return 'signed'
}

function send(plan: LoadPlan): Promise<LoadReport> {
  const sending = { url, deliveries, now: () => performance.timeOrigin + performance.now() }
  return plan.kind === 'closed' ? sendClosed({ ...sending, plan }) : sendOpen({ ...sending, plan })
}
