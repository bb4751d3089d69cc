import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnyRouter, inferRouterContext, TRPCError } from '@trpc/server'
import { resolveResponse } from '@trpc/server/http'
import { type AppError, toAppError } from '../errors.ts'
import { checkHead, readInput } from './read-call.ts'
import { fromTrpcError, toTrpcError } from './trpc-errors.ts'

/** A router behind HTTP: where it stands, who may call it, what its procedures work with. */
export interface TrpcEndpoint<Router extends AnyRouter, Known extends Caller = Caller> {
  /** The path in front of the procedures' names, with a slash at its end. */
  readonly prefix: string
  readonly router: Router
  /** Identifies the caller, before the body is read. Throws a catalogue error for one that may not call, or not yet. */
  readonly authenticate: (request: IncomingMessage, procedure: string) => Promise<Known>
  /** Made for each call; the caller is null only where the call is refused before any procedure runs. */
  readonly createContext: (request: IncomingMessage, caller: Known | null) => inferRouterContext<Router>
  /** Headers of a good answer. */
  readonly headersOf?: (context: inferRouterContext<Router>) => Record<string, string>
  /** Queries that are also taken as POST, for their input can be too long for an address. Default: none. */
  readonly queriesByPost?: ReadonlySet<string>
}

/** Who calls. */
export interface Caller {
  readonly name: string
  /**
   * Checks that this caller may call with this input: the bytes of the body, or of the text of `input` where the request
   * has no body.
   * @throws a catalogue error
   */
  readonly checkInput?: (input: Uint8Array) => void
}

/** What the log tells of a call. */
export interface CallReport<Context = unknown> {
  readonly procedure: string
  readonly status: number
  readonly caller: string | undefined
  readonly context: Context
  readonly error: AppError | undefined
}

/**
 * Answers one tRPC call: the guard first (size, caller, media type, strict JSON), then the procedure. No batches, and a
 * HEAD is a GET without the body.
 */
export async function answerCall<Router extends AnyRouter, Known extends Caller = Caller>(
  endpoint: TrpcEndpoint<Router, Known>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<CallReport<inferRouterContext<Router>>> {
  const url = new URL(request.url ?? '/', 'http://internal')
  const path = url.pathname.slice(endpoint.prefix.length)
  const guarded = await guard(request, { url, authenticate: () => endpoint.authenticate(request, path) })
  // What was refused unread is not looked into: its path and its query say nothing any more.
  if (guarded.refusal !== null) url.search = ''
  const context = endpoint.createContext(request, guarded.caller)
  let error: AppError | undefined
  const answer = await resolveResponse({
    router: endpoint.router,
    req: toFetchRequest(request, url, guarded.input),
    path: guarded.refusal === null ? path : nameOf(endpoint.router, path),
    error: guarded.refusal,
    allowBatching: false,
    allowMethodOverride: endpoint.queriesByPost?.has(path) === true,
    createContext: async () => context,
    onError: (occurred) => {
      error = fromTrpcError(occurred.error)
    },
    responseMeta: ({ errors }) => {
      const headers = errors[0] === undefined ? (endpoint.headersOf?.(context) ?? {}) : headersOfError(errors[0])
      return { headers: new Headers(headers) }
    },
  })
  await send(request, response, answer)
  return {
    procedure: nameOf(endpoint.router, path),
    status: answer.status,
    caller: guarded.caller?.name,
    context,
    error,
  }
}

interface Guarded<Known> {
  readonly caller: Known | null
  readonly input?: string | undefined
  readonly refusal: TRPCError | null
}

interface Guard<Known> {
  readonly url: URL
  readonly authenticate: () => Promise<Known>
}

async function guard<Known extends Caller>(
  request: IncomingMessage,
  { url, authenticate }: Guard<Known>,
): Promise<Guarded<Known>> {
  try {
    checkHead(request)
    const caller = await authenticate()
    return { caller, input: await readInput(request, { url, check: caller.checkInput }), refusal: null }
  } catch (error) {
    return { caller: null, refusal: toTrpcError(toAppError(error)) }
  }
}

/** The call as tRPC reads it: nothing of the request but its method, address and checked input gets there. */
function toFetchRequest(request: IncomingMessage, url: URL, input: string | undefined): Request {
  const asked = request.method ?? 'GET'
  const method = asked === 'HEAD' || asked === 'CONNECT' || asked === 'TRACE' ? 'GET' : asked
  const headers = { 'content-type': 'application/json' }
  return new Request(url, { method, headers, ...(input === undefined ? {} : { body: input }) })
}

function headersOfError(error: TRPCError): Record<string, string> {
  const known = fromTrpcError(error)
  const { version } = known.details as { version?: number | null }
  const current = known.status === 412 && typeof version === 'number' ? { ETag: `"${version}"` } : {}
  return { ...known.headers, ...current }
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
function nameOf(router: AnyRouter, path: string): string {
  return Object.hasOwn(router._def.procedures, path) ? path : 'unknown'
}
