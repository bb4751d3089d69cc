import { createServiceTokens } from '@oncehook/kernel/service-token'
import type { PaymentProcedures } from '../dispatch/apply-payments.ts'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { Foundation, GatewayParts } from './gateway-parts.ts'

const CALL_MS = 10_000

/** Makes the ways to fulfilment. Their code is loaded at the first call, for no delivery needs it. */
export function loadFulfilment(parts: GatewayParts): Pick<Foundation, 'fulfilment' | 'payments'> {
  let loading: Promise<Loaded> | undefined
  const loaded = (): Promise<Loaded> => {
    loading ??= load(parts)
    return loading
  }
  return {
    fulfilment: async () => (await loaded()).client,
    payments: {
      versions: async (orderIds) => (await loaded()).payments.versions(orderIds),
      applyEvents: async (events) => (await loaded()).payments.applyEvents(events),
    },
  }
}

interface Loaded {
  readonly client: FulfilmentClient
  readonly payments: PaymentProcedures
}

async function load({ settings, clock, fetch }: GatewayParts): Promise<Loaded> {
  const { createFulfilmentClient, createPaymentProcedures } = await import('../dispatch/fulfilment-client.ts')
  const secret = settings.SERVICE_TOKEN_SECRET
  const tokens = createServiceTokens({ secret, issuer: 'gateway', audience: 'fulfilment', clock })
  const client = createFulfilmentClient({ url: settings.FULFILMENT_URL, tokens, fetch, timeoutMs: CALL_MS })
  return { client, payments: createPaymentProcedures(client) }
}
