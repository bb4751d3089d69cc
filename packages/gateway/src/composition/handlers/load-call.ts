import { randomUUID } from 'node:crypto'
import type { CallFetch } from '@oncehook/kernel/service-fetch'
import type { ServiceKey } from '@oncehook/kernel/service-keys'
import type { CallHandler } from '../../handlers/calls/call-handler.ts'
import type { HandlerPlace, HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { GatewayContext } from '../gateway-context.ts'

/** What calls need of the context. */
interface CallContext extends Pick<GatewayContext, 'clock'> {
  readonly serviceKeys: Pick<GatewayContext['serviceKeys'], 'current'>
}

/** Creates the calls of a handler. Deliveries do not need them, so the first call loads their code. */
export function loadCall(context: CallContext, handler: HandlerSettings): CallHandler {
  const { place } = handler
  return loadOnce(async () =>
    place.by === 'https'
      ? loadHttps(context, { ...handler, place }, await loadFetch(place))
      : loadTrpc(context, handler, await loadFetch({ mayBePrivate: true })),
  )
}

/** Creates calls that the first one loads. If that fails, the next one loads them again. */
export function loadOnce(load: () => Promise<CallHandler>): CallHandler {
  let loading: Promise<CallHandler> | undefined
  return async (tasks) => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return (await loading)(tasks)
  }
}

type ByHttps = HandlerSettings & { readonly place: Extract<HandlerPlace, { by: 'https' }> }

async function loadHttps(
  { clock }: CallContext,
  { place, timeoutMs }: ByHttps,
  fetch: CallFetch,
): Promise<CallHandler> {
  const { createHttpsCall } = await import('../../handlers/calls/https-call.ts')
  return createHttpsCall({ place, fetch, clock, timeoutMs })
}

async function loadFetch({ mayBePrivate }: { readonly mayBePrivate: boolean }): Promise<CallFetch> {
  const { lookup } = await import('node:dns/promises')
  const { createGuardedFetch } = await import('../../handlers/calls/guarded-fetch.ts')
  return createGuardedFetch({ lookup, mayBePrivate })
}

async function loadTrpc(
  { serviceKeys, clock }: CallContext,
  handler: HandlerSettings,
  fetch: CallFetch,
): Promise<CallHandler> {
  const { createServiceTokens } = await import('@oncehook/kernel/service-token')
  const { createTrpcCall } = await import('../../handlers/calls/trpc-call.ts')
  const { name, place, timeoutMs } = handler
  const tokens = createServiceTokens({
    ...{ issuer: 'gateway', audience: name, clock, newId: randomUUID },
    key: () => signingKey(serviceKeys.current()),
  })
  return createTrpcCall({ handler: name, url: place.url, tokens, fetch, timeoutMs, now: () => performance.now() })
}

function signingKey([first]: readonly ServiceKey[]): ServiceKey {
  if (first === undefined) throw new Error('There is no key for service tokens')
  return first
}
