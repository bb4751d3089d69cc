import { forgeDeliveries } from './forged-deliveries.ts'
import type { LoadPlan, LoadReport } from './load-report.ts'
import { sendClosed } from './send-closed.ts'
import { sendOpen } from './send-open.ts'
import type { SenderOrder } from './sender.ts'
import { type SignedDelivery, signDeliveries } from './signed-deliveries.ts'

// A separate process, so that the cost of sending never counts against the side that is measured.

let url = ''
let deliveries: SignedDelivery[] = []
let cut = new AbortController()

process.on('disconnect', () => process.exit(0))
process.on('message', (order: SenderOrder) => {
  if ('cut' in order) cut.abort()
  else void obey(order).then((answer) => process.send?.(answer))
})
process.send?.('ready')

async function obey(order: Exclude<SenderOrder, { cut: true }>): Promise<'ready' | LoadReport> {
  if ('send' in order) return send(order.send)
  if ('sign' in order) deliveries = signDeliveries(order.sign, Date.now())
  else deliveries = forgeDeliveries(order.forge, Date.now())
  url = 'sign' in order ? order.sign.url : order.forge.url
  return 'ready'
}

function send(plan: LoadPlan): Promise<LoadReport> {
  const sending = { url, deliveries, now: () => performance.timeOrigin + performance.now() }
  if (plan.kind === 'closed') return sendClosed({ ...sending, plan })
  cut = new AbortController()
  return sendOpen({ ...sending, plan }, cut.signal)
}
