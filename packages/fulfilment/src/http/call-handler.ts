import type { IncomingMessage, ServerResponse } from 'node:http'
import { unavailable } from '@oncehook/kernel/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/errors'
import type { ServiceTokenVerifier } from '@oncehook/kernel/service-token'
import type { TRPCError } from '@trpc/server'
import { resolveResponse } from '@trpc/server/http'
import { fulfilmentRouter } from '../router.ts'
import { type Context, fromTrpcError, toTrpcError } from '../trpc.ts'
import type { UseCases } from '../use-cases.ts'
import { checkHead, readInput } from './read-call.ts'

/** What answering calls works with. */
export interface CallDeps {
  readonly useCases: UseCases
  readonly verifyToken: ServiceTokenVerifier
  /** Whether the database is open and its indexes are in place. */
  readonly isReady: () => boolean
}

/** What the log tells of a call. */
export interface CallReport {
  readonly procedure: string
  readonly status: number
  readonly caller: string | undefined
  readonly facts: Readonly<Record<string, unknown>>
  readonly error: AppError | undefined
}

/** The place under which the procedures stand. */
export const CALLS = '/trpc/'

/**
 * Answers one tRPC call over HTTP: the guard first (size, token, media type, strict JSON), then the procedure. A HEAD is
 * a GET without the body.
 */
export async function answerCall(
  deps: CallDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<CallReport> {
  const url = new URL(request.url ?? '/', 'http://fulfilment')
  const path = url.pathname.slice(CALLS.length)
  const guarded = await guard(deps, request, url)
  // What was refused unread is not looked into: its path and its query say nothing any more.
  const shownPath = guarded.refusal === null ? path : nameOf(path)
  if (guarded.refusal !== null) url.search = ''
  const context: Context = { useCases: deps.useCases, ifMatch: request.headers['if-match'], answer: {} }
  let error: AppError | undefined
  const answer = await resolveResponse({
    router: fulfilmentRouter,
    req: toFetchRequest(request, url, guarded.input),
    path: shownPath,
    error: guarded.refusal,
    allowBatching: false,
    createContext: async () => context,
    onError: (occurred) => {
      error = fromTrpcError(occurred.error)
    },
    responseMeta: ({ errors }) => ({ headers: headersOf(context, errors[0]) }),
  })
  await send(request, response, answer)
  const { facts = {} } = context.answer
  return { procedure: nameOf(path), status: answer.status, caller: guarded.caller, facts, error }
}

interface Guarded {
  readonly caller?: string
  readonly input?: string | undefined
  readonly refusal: TRPCError | null
}

async function guard(deps: CallDeps, request: IncomingMessage, url: URL): Promise<Guarded> {
  try {
    checkHead(request)
    const { issuer } = await deps.verifyToken(request.headers.authorization)
    if (!deps.isReady()) throw unavailable({ reason: 'starting' }, { headers: { 'Retry-After': '1' } })
    return { caller: issuer, input: await readInput(request, url), refusal: null }
  } catch (error) {
    return { refusal: toTrpcError(toAppError(error)) }
  }
}

/** The call as tRPC reads it: nothing of the request but its method, address and checked input gets there. */
function toFetchRequest(request: IncomingMessage, url: URL, input: string | undefined): Request {
  const asked = request.method ?? 'GET'
  const method = asked === 'HEAD' || asked === 'CONNECT' || asked === 'TRACE' ? 'GET' : asked
  const headers = { 'content-type': 'application/json' }
  return new Request(url, { method, headers, ...(input === undefined ? {} : { body: input }) })
}

function headersOf({ answer }: Context, error: TRPCError | undefined): Headers {
  if (error === undefined) return new Headers(answer.etag === undefined ? {} : { ETag: answer.etag })
  const known = fromTrpcError(error)
  const { version } = known.details as { version?: number | null }
  const current = known.status === 412 && typeof version === 'number' ? { ETag: `"${version}"` } : {}
  return new Headers({ ...known.headers, ...current })
}

async function send(request: IncomingMessage, response: ServerResponse, answer: Response): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer())
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

// A label must not grow with what callers make up.
function nameOf(path: string): string {
  return Object.hasOwn(fulfilmentRouter._def.procedures, path) ? path : 'unknown'
}

/** Whether a call failed in a way that somebody should look at. */
export function isFault(report: CallReport): report is CallReport & { error: AppError } {
  return report.error instanceof AppError && report.status >= 500
}
