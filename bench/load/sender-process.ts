// A separate process, so that the cost of sending never counts against the side that is measured.
import { forgeDeliveries } from './forged-deliveries.ts'
import { type LoadReport, sendClosed, sendOpen } from './load.ts'
import type { SenderOrder } from './sender.ts'
import { type SignedDelivery, signDeliveries } from './signed-deliveries.ts'

let url = ''
let deliveries: SignedDelivery[] = []

process.on('disconnect', () => process.exit(0))
process.on('message', (order: SenderOrder) => void obey(order).then((answer) => process.send?.(answer)))
process.send?.('ready')

async function obey(order: SenderOrder): Promise<'ready' | LoadReport> {
  if ('send' in order) {
    const to = { url, deliveries, now: () => performance.timeOrigin + performance.now() }
    return order.send.kind === 'closed' ? sendClosed(order.send, to) : sendOpen(order.send, to)
  }
  if ('sign' in order) deliveries = signDeliveries(order.sign, Date.now())
  else deliveries = forgeDeliveries(order.forge, Date.now())
  url = 'sign' in order ? order.sign.url : order.forge.url
  return 'ready'
}
