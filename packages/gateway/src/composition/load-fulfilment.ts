import { randomUUID } from 'node:crypto'
import type { CallFetch } from '@oncehook/kernel/service-fetch'
import type { ServiceKey } from '@oncehook/kernel/service-keys'
import type { PaymentProcedures } from '../dispatch/apply-payments.ts'
import type { FulfilmentClient } from '../fulfilment/fulfilment-client.ts'
import type { GatewayContext, GatewayDeps } from './gateway-context.ts'

const CALL_MS = 10_000

/** Creates the fulfilment client and the payment procedures. Deliveries do not need them, so the first call loads their code. */
export function loadFulfilment(deps: CallDeps): Pick<GatewayContext, 'fulfilment' | 'payments'> {
  let loading: Promise<Loaded> | undefined
  const loaded = (): Promise<Loaded> => {
    loading ??= load(deps)
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

/** The dependencies of calls: those of the gateway, and the current keys and certificates. */
type CallDeps = GatewayDeps & Pick<GatewayContext, 'serviceKeys' | 'fulfilmentTls'>

interface Loaded {
  readonly client: FulfilmentClient
  readonly payments: PaymentProcedures
}

async function load(deps: CallDeps): Promise<Loaded> {
  const { settings, serviceKeys, clock } = deps
  const { createFulfilmentClient, createPaymentProcedures } = await import('../fulfilment/fulfilment-client.ts')
  const { createServiceTokens } = await import('@oncehook/kernel/service-token')
  const tokens = createServiceTokens({
    ...{ issuer: 'gateway', audience: 'fulfilment', clock, newId: randomUUID },
    key: () => signingKey(serviceKeys.current()),
  })
  const fetch = await loadFetch(deps)
  const client = createFulfilmentClient({ url: settings.FULFILMENT_URL, tokens, fetch, timeoutMs: CALL_MS })
  return { client, payments: createPaymentProcedures(client) }
}

/** Node's own fetch supports neither custom authorities nor client certificates. One that does is loaded only if needed. */
async function loadFetch({ fetch, fulfilmentTls }: CallDeps): Promise<CallFetch> {
  if (fulfilmentTls.current() === null) return fetch
  const { createTlsFetch } = await import('../fulfilment/tls-fetch.ts')
  return createTlsFetch(fulfilmentTls.current)
}

function signingKey([first]: readonly ServiceKey[]): ServiceKey {
  if (first === undefined) throw new Error('There is no key for service tokens')
  return first
}
