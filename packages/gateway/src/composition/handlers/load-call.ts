import { randomUUID } from 'node:crypto'
import type { ServiceKey } from '@oncehook/kernel/service-keys'
import type { CallHandler } from '../../handlers/calls/call-handler.ts'
import type { Lookup } from '../../handlers/calls/share-lookup.ts'
import type { HandlerPlace, HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { GatewayContext } from '../gateway-context.ts'

/** What calls need of the context. */
type CallContext = Pick<GatewayContext, 'serviceKeys' | 'clock' | 'fetch'>

/** Creates the calls of a handler. Deliveries do not need them, so the first call loads their code. */
export function loadCall(context: CallContext, handler: HandlerSettings): CallHandler {
  return loadOnce(() => load(context, handler))
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

function load(context: CallContext, handler: HandlerSettings): Promise<CallHandler> {
  const { place } = handler
  return place.by === 'https' ? loadHttps(context, handler, place) : loadTrpc(context, handler)
}

async function loadHttps(
  { clock }: CallContext,
  { timeoutMs }: HandlerSettings,
  place: Extract<HandlerPlace, { by: 'https' }>,
): Promise<CallHandler> {
  const { createGuardedFetch } = await import('../../handlers/calls/guarded-fetch.ts')
  const { createHttpsCall } = await import('../../handlers/calls/https-call.ts')
  const fetch = createGuardedFetch({ lookup: await loadLookup(), mayBePrivate: place.mayBePrivate })
  return createHttpsCall({ place, fetch, clock, timeoutMs })
}

// All handlers of the process share it, with their former settings too: so do the threads that look names up.
let shared: Lookup | undefined

async function loadLookup(): Promise<Lookup> {
  const { lookup } = await import('node:dns/promises')
  const { shareLookup } = await import('../../handlers/calls/share-lookup.ts')
  shared ??= shareLookup(lookup)
  return shared
}

async function loadTrpc({ serviceKeys, clock, fetch }: CallContext, handler: HandlerSettings): Promise<CallHandler> {
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
