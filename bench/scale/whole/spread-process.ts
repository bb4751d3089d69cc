import { sendClosed } from '../../load/send-closed.ts'
import { sendOpen } from '../../load/send-open.ts'
import { type SignedDelivery, signDeliveries } from '../../load/signed-deliveries.ts'
import type { SpreadAnswer, SpreadOrder } from './spread-load.ts'

// One process sends to all gateways: one per gateway would use processor time that the gateways need.

const CLOSED_FOR_MS = 120_000
const GRACE_MS = 20_000

let ready: { readonly url: string; readonly deliveries: readonly SignedDelivery[] }[] = []
const now = (): number => performance.timeOrigin + performance.now()

process.on('disconnect', () => process.exit(0))
process.on('message', (order: SpreadOrder) => void obey(order).then((answer) => process.send?.(answer)))
process.send?.('ready')

async function obey(order: SpreadOrder): Promise<SpreadAnswer> {
  if ('sign' in order) {
    const { urls, secret, count, orderPrefix } = order.sign
    ready = urls.map((url, index) => {
      const batch = { url, secret, count, mix: 'unique', orderPrefix: `${orderPrefix}${index}-` } as const
      return { url, deliveries: signDeliveries(batch, Date.now()) }
    })
    return { acknowledged: 0, p99Ms: 0 }
  }
  const { connections, perSecond } = order.send
  const reports = await Promise.all(
    ready.map((one) =>
      perSecond === null
        ? sendClosed({ ...one, now, plan: { kind: 'closed', connections, forMs: CLOSED_FOR_MS } })
        : sendOpen({ ...one, now, plan: { kind: 'open', connections, perSecond, graceMs: GRACE_MS } }),
    ),
  )
  return {
    acknowledged: reports.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
    p99Ms: Math.max(...reports.map(({ latency }) => latency.p99)),
  }
}
