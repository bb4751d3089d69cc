import { randomUUID } from 'node:crypto'
import type { ServiceKey } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokens } from '@oncehook/kernel/secrets/service-token'
import { createFulfilmentClient, createPaymentProcedures } from '../fulfilment/fulfilment-client.ts'
import { createTlsFetch } from '../fulfilment/tls-fetch.ts'
import type { GatewayContext, GatewayDeps } from './gateway-context.ts'

/** The dependencies of calls: those of the gateway, and the current keys and certificates. */
type CallDeps = GatewayDeps & Pick<GatewayContext, 'serviceKeys' | 'fulfilmentTls' | 'limits'>

/** Creates the fulfilment client and the payment procedures. */
export function createFulfilment(deps: CallDeps): Pick<GatewayContext, 'fulfilment' | 'payments'> {
  const { settings, serviceKeys, fulfilmentTls, clock, limits } = deps
  const tokens = createServiceTokens({
    ...{ issuer: 'gateway', audience: 'fulfilment', clock, newId: randomUUID },
    key: () => signingKey(serviceKeys.current()),
  })
  // Node's own fetch supports neither custom authorities nor client certificates.
  const fetch = fulfilmentTls.current() === null ? deps.fetch : createTlsFetch(fulfilmentTls.current)
  const call = { url: settings.FULFILMENT_URL, timeoutMs: limits.fulfilmentCallMs }
  const fulfilment = createFulfilmentClient({ ...call, tokens, fetch })
  return { fulfilment, payments: createPaymentProcedures(fulfilment) }
}

function signingKey([first]: readonly ServiceKey[]): ServiceKey {
  if (first === undefined) throw new Error('There is no key for service tokens')
  return first
}
