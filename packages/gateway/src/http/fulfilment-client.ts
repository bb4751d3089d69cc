import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import { readCapped } from '@oncehook/kernel/http/client'
import { keyUnknown, unavailable } from '@oncehook/kernel/http/error-codes'
import { AppError, type RetryClass } from '@oncehook/kernel/http/errors'
import { formatEntityTag } from '@oncehook/kernel/http/preconditions'
import type { ClientTls } from '@oncehook/kernel/http/server/tls'
import { type CallFetch, type ServiceTokens, withServiceToken } from '@oncehook/kernel/secrets/service-token'
import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError, type TRPCLink } from '@trpc/client'
import * as undici from 'undici'
import type { ApplyEvents } from '../handlers/fulfilment/apply-payments.ts'

export type FulfilmentClient = TRPCClient<FulfilmentRouter>

/**
 * Creates a client. Each call is one request, with its own service token and a timeout. Pass errors to
 * `toFulfilmentError`. The context of a call may have a `requestId`, and the `principal` on whose behalf it is made.
 */
export function createFulfilmentClient(
  url: URL,
  tokens: ServiceTokens,
  fetch: CallFetch,
  timeoutMs: number,
): FulfilmentClient {
  const address = new URL('trpc', url.href.endsWith('/') ? url : `${url.href}/`).href
  // Each call has its own link: its token names the principal of the call.
  const link: TRPCLink<FulfilmentRouter> = (runtime) => (calling) => {
    const { requestId, principal, byPost } = calling.op.context
    const call = withServiceToken(fetch, tokens, typeof principal === 'string' ? principal : undefined)
    return httpLink<FulfilmentRouter>({
      url: address,
      headers: typeof requestId === 'string' ? { 'x-request-id': requestId } : {},
      ...(byPost === true ? { methodOverride: 'POST' } : {}),
      async fetch(input, init) {
        const signal = withTimeout(init?.signal, timeoutMs)
        const response = await refusePage(await call(String(input), { ...init, signal } as RequestInit))
        return calling.op.path.startsWith(PAYMENTS) ? capAnswer(response) : response
      },
    })(runtime)(calling)
  }
  return createTRPCClient<FulfilmentRouter>({ links: [link] })
}

/**
 * Throws if a proxy answered instead of fulfilment. Its answer is not JSON, so its status would be lost with its text.
 */
async function refusePage(response: Response): Promise<Response> {
  if (response.ok || response.headers.get('content-type')?.includes('json') === true) return response
  await response.body?.cancel().catch(() => undefined)
  throw unavailable({ dependency: 'fulfilment', status: response.status })
}

const PAYMENTS = 'payments.'
const MOST_BYTES = 2 * 1024 * 1024

/** Lets at most as many bytes be read as an answer about payments has: the gateway asks for these without a client. */
function capAnswer(response: Response): Pick<Response, 'ok' | 'json'> {
  const json = async (): Promise<unknown> => JSON.parse((await readCapped(response, MOST_BYTES)).toString('utf8'))
  return { ok: response.ok, json }
}

function withTimeout(signal: AbortSignal | null | undefined, timeoutMs: number): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs)
  return signal ? AbortSignal.any([signal, timeout]) : timeout
}

/** The fields that fulfilment adds to an error of tRPC. */
interface ErrorData {
  readonly httpStatus: number
  readonly reason: string
  readonly retry: RetryClass
  readonly version?: number | null
}

/**
 * Turns what a call threw into the catalogue error that fulfilment raised. Anything that is not a decision of
 * fulfilment (no answer, a refused token, an internal error) becomes `unavailable`. The current version of a 412 is in
 * `details`.
 */
export function toFulfilmentError(thrown: unknown): AppError {
  if (thrown instanceof TRPCClientError && thrown.cause instanceof AppError) return thrown.cause
  const data = thrown instanceof TRPCClientError ? (thrown.data as Partial<ErrorData> | undefined | null) : undefined
  if (!isErrorData(data))
    return unavailable({ dependency: 'fulfilment', status: data?.httpStatus ?? null }, { cause: thrown })
  const { reason, httpStatus: status, retry, version } = data
  const message = (thrown as Error).message
  return new AppError(reason, { status, retry, message }, { details: version === undefined ? {} : { version } })
}

function isErrorData(data: Partial<ErrorData> | undefined | null): data is ErrorData {
  const status = data?.httpStatus
  if (typeof data?.reason !== 'string' || status === undefined) return false
  // The only 5xx that is about a record, and not about fulfilment.
  if (data.reason === keyUnknown.code) return true
  return status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
}

/** The procedure that carries events, for the dispatcher. */
export function createApplyEvents(client: FulfilmentClient): ApplyEvents {
  return async (events) => {
    try {
      return (await client.payments.applyEvents.mutate({ events: [...events] })).results
    } catch (thrown) {
      throw toFulfilmentError(thrown)
    }
  }
}

const RETRY_AFTER_SECONDS = '1'

/**
 * Waits for fulfilment's answer, and turns its errors into ours: a 412 has the current version, a 503 has Retry-After.
 * @throws AppError
 */
export async function callFulfilment<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (thrown) {
    const error = toFulfilmentError(thrown)
    throw error.with({ headers: headersFor(error) })
  }
}

function headersFor({ code, status, details }: AppError): Record<string, string> {
  if (status === 503 || code === 'idempotency_in_progress') return { 'Retry-After': RETRY_AFTER_SECONDS }
  const { version } = details
  return status === 412 && typeof version === 'number' ? { ETag: formatEntityTag(version) } : {}
}

/**
 * Creates a fetch that uses the authorities and the client certificate that `current` returns. When these change, new
 * calls use new connections, and calls in progress end on the old ones.
 */
export function createTlsFetch(current: () => ClientTls | null): CallFetch {
  let used = current()
  let agent = createAgent(used)
  return async (address, init) => {
    const tls = current()
    if (tls !== used) {
      void agent.close()
      used = tls
      agent = createAgent(tls)
    }
    // Only the types differ: undici's own fetch reads the same properties, and its responses have them.
    const answer = await undici.fetch(address, { ...(init as unknown as undici.RequestInit), dispatcher: agent })
    return answer as unknown as Response
  }
}

function createAgent(tls: ClientTls | null): undici.Agent {
  const { ca, pair } = tls ?? { ca: undefined, pair: null }
  // Otherwise like Node's own fetch: HTTP/1.1.
  return new undici.Agent({ allowH2: false, connect: { ...(ca === undefined ? {} : { ca }), ...pair } })
}
