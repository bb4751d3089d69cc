import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { ServiceKey } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokens } from '@oncehook/kernel/secrets/service-token'
import type { CallHandler } from '../../handlers/calls/call-handler.ts'
import { createGuardedFetch } from '../../handlers/calls/guarded-fetch.ts'
import { createHttpsCall } from '../../handlers/calls/https-call.ts'
import { createTrpcCall } from '../../handlers/calls/trpc-call.ts'
import type { HandlerSettings } from '../../handlers/settings/read-handlers.ts'
import type { GatewayContext } from '../gateway-context.ts'

/** Creates the calls of a handler. */
export function createCall({ serviceKeys, clock }: GatewayContext, handler: HandlerSettings): CallHandler {
  const { name, place, timeoutMs } = handler
  if (place.by === 'https') {
    const fetch = createGuardedFetch({ lookup, mayBePrivate: place.mayBePrivate })
    return createHttpsCall({ place, fetch, clock, timeoutMs })
  }
  const fetch = createGuardedFetch({ lookup, mayBePrivate: true })
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
