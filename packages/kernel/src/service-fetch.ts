import type { ServiceCall, ServiceTokens } from './service-token.ts'

/** A fetch for calls, whose body is a text or bytes. */
export type CallFetch = (address: string, init: RequestInit) => Promise<Response>

/**
 * Wraps a fetch: each request carries a service token that is good for this call alone. `subject` is for whom the calls are
 * made; absent: for nobody but the caller itself.
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
