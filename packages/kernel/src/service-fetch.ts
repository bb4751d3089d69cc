import type { ServiceCall, ServiceTokens } from './service-token.ts'

/** A fetch function whose body is a string or bytes. */
export type CallFetch = (address: string, init: RequestInit) => Promise<Response>

/**
 * Wraps a fetch function so that each request carries a service token bound to that call. `subject` is the principal
 * on whose behalf calls are made. If absent, the service calls for itself.
 */
export function withServiceToken(fetch: CallFetch, tokens: ServiceTokens, subject?: string): CallFetch {
  return async (address, init) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${await tokens.issue({ ...toCall(address, init, headers), subject })}`)
    return fetch(address, { ...init, headers })
  }
}

function toCall(address: string, { method, body }: RequestInit, headers: Headers): ServiceCall {
  const { pathname, searchParams } = new URL(address)
  const procedure = pathname.slice(pathname.lastIndexOf('/') + 1)
  const isBody = method === 'POST' && (typeof body === 'string' || body instanceof Uint8Array)
  const ifMatch = headers.get('if-match') ?? undefined
  return { procedure, input: isBody ? body : (searchParams.get('input') ?? ''), ifMatch }
}
