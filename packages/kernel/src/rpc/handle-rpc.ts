import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnyRouter, inferRouterContext } from '@trpc/server'
import { resolveResponse } from '@trpc/server/http'
import { invalidRequest, methodNotImplemented, payloadTooLarge, unsupportedMediaType } from '../http/error-codes.ts'
import { type AppError, toAppError } from '../http/errors.ts'
import { readRawBody } from '../http/server/raw-body.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { describeRefusal, fromTrpcError } from './trpc-errors.ts'

/** A router served over HTTP: its path, the check of its callers and the context of its procedures. */
export interface TrpcEndpoint<Router extends AnyRouter, Known extends Caller = Caller> {
  /** The path before the procedure names, with a trailing slash. */
  readonly prefix: string
  readonly router: Router
  /** Identifies the caller before the body is read. Throws a catalogue error if the caller may not call, or not yet. */
  readonly authenticate: (request: IncomingMessage, procedure: string) => Promise<Known>
  /** Creates the context of a call. The caller is null only if the call is refused before a procedure runs. */
  readonly createContext: (request: IncomingMessage, caller: Known | null) => inferRouterContext<Router>
  readonly headersOf?: (context: inferRouterContext<Router>) => Record<string, string>
  /** Queries that also accept POST, because their input is too long for a URL or must not be in one. Default: none. */
  readonly queriesByPost?: ReadonlySet<string>
}

export interface Caller {
  readonly name: string
  /**
   * Checks that the caller may call with this input: the body, or the `input` parameter if there is no body.
   * @throws a catalogue error
   */
  readonly checkInput?: (input: Uint8Array) => void
  /** How an input of the caller is read. Default: up to 1 MiB of any number of values, at once. */
  readonly reading?: InputReading
}

/** Parsing blocks the process, and what is parsed may be refused only afterwards. */
export interface InputReading {
  readonly maxBytes: number
  /** See `StrictJsonOptions`. */
  readonly maxParts?: number
  /** Waits for the caller's turn to read an input. */
  readonly inTurn: <Input>(read: () => Promise<Input>) => Promise<Input>
}

export interface RpcResult<Context = unknown> {
  readonly procedure: string
  readonly status: number
  readonly caller: string | undefined
  readonly context: Context
  readonly error: AppError | undefined
}

/**
 * Handles one tRPC call: first the guard (size, caller, media type, strict JSON), then the procedure. No batches. A
 * HEAD request is a GET without the response body.
 *
 * Own code, because tRPC's adapter for Node replaces a refusal of the guard by 415 if the body is not JSON, answers HEAD
 * with 204, sends no Content-Length, reports a call early if its client has left, and needs a fifth more processor time
 * per call.
 */
export async function handleRpc<Router extends AnyRouter, Known extends Caller = Caller>(
  endpoint: TrpcEndpoint<Router, Known>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<RpcResult<inferRouterContext<Router>>> {
  // The path as the guard of the listener has left it, and as the prefix was compared with it. `URL` would shorten `/a/../b` afterwards.
  const [called = '', query = ''] = (request.url ?? '').split(/\?(.*)/s, 2)
  const path = called.slice(endpoint.prefix.length)
  const url = new URL('http://internal/')
  url.search = query
  const isQueryByPost = endpoint.queriesByPost?.has(path) === true
  const authenticate = () => endpoint.authenticate(request, path)
  const guarded = await guard(request, { url, authenticate, mayBeEmpty: isQueryByPost })
  const context = endpoint.createContext(request, guarded.caller)
  const procedure = nameOf(endpoint.router, path)
  if (guarded.refusal !== null) {
    write(request, response, toRefusalAnswer(guarded.refusal, procedure))
    return { procedure, status: guarded.refusal.status, caller: guarded.caller?.name, context, error: guarded.refusal }
  }
  let error: AppError | undefined
  const answer = await resolveResponse({
    router: endpoint.router,
    req: toFetchRequest(request, url, guarded.input),
    // The library decodes it.
    path: encodeURIComponent(path),
    error: null,
    allowBatching: false,
    allowMethodOverride: isQueryByPost,
    createContext: async () => context,
    onError: (occurred) => {
      error = fromTrpcError(occurred.error)
    },
    responseMeta: ({ errors }) => {
      const [first] = errors
      const headers = first === undefined ? (endpoint.headersOf?.(context) ?? {}) : headersOfError(fromTrpcError(first))
      return { headers: new Headers(headers) }
    },
  })
  const { status, headers } = answer
  write(request, response, {
    status,
    headers: Object.fromEntries(headers),
    body: Buffer.from(await answer.arrayBuffer()),
  })
  return { procedure, status, caller: guarded.caller?.name, context, error }
}

interface Guarded<Known> {
  readonly caller: Known | null
  readonly input?: string | undefined
  readonly refusal: AppError | null
}

interface Guard<Known> extends Pick<InputRules, 'url' | 'mayBeEmpty'> {
  readonly authenticate: () => Promise<Known>
}

async function guard<Known extends Caller>(
  request: IncomingMessage,
  { authenticate, ...rules }: Guard<Known>,
): Promise<Guarded<Known>> {
  let caller: Known | null = null
  try {
    checkHead(request)
    const known = await authenticate()
    const { checkInput: check, reading = AT_ONCE } = known
    // Whoever must be recognised by the input is nobody before.
    if (check === undefined) caller = known
    const input = await reading.inTurn(() => readInput(request, { ...rules, check, reading }))
    return { caller: known, input, refusal: null }
  } catch (error) {
    return { caller, refusal: toAppError(error) }
  }
}

/** The call as seen by tRPC: only the method, the URL and the checked input of the request. */
function toFetchRequest(request: IncomingMessage, url: URL, input: string | undefined): Request {
  const asked = request.method ?? 'GET'
  const method = asked === 'HEAD' || asked === 'CONNECT' || asked === 'TRACE' ? 'GET' : asked
  const headers = { 'content-type': 'application/json' }
  return new Request(url, { method, headers, ...(input === undefined ? {} : { body: input }) })
}

function headersOfError({ status, details, headers }: AppError): Record<string, string> {
  const { version } = details as { version?: number | null }
  const current = status === 412 && typeof version === 'number' ? { ETag: `"${version}"` } : {}
  return { ...headers, ...current }
}

interface RpcAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/**
 * The answer to a call that is refused before a procedure runs, as tRPC would write it. The library takes many times as long, and
 * anybody can cause this one.
 */
function toRefusalAnswer(refusal: AppError, path: string): RpcAnswer {
  const body = Buffer.from(JSON.stringify({ error: describeRefusal(refusal, path) }))
  return { status: refusal.status, headers: { vary: 'trpc-accept, accept', ...headersOfError(refusal) }, body }
}

function write(request: IncomingMessage, response: ServerResponse, { status, headers, body }: RpcAnswer): void {
  response.writeHead(status, {
    ...headers,
    // In lower case like the others, so that it replaces tRPC's.
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

// Callers must not be able to create metric labels.
function nameOf(router: AnyRouter, path: string): string {
  return Object.hasOwn(router._def.procedures, path) ? path : 'unknown'
}

/** Maximum body size of a call. 500 events with the longest names fit. */
const MAX_CALL_BYTES = 1_048_576

const AT_ONCE: InputReading = { maxBytes: MAX_CALL_BYTES, inTurn: (read) => read() }

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Checks a call before its caller is known: the method exists, and the announced body is not too large.
 * @throws methodNotImplemented, payloadTooLarge
 */
function checkHead(request: IncomingMessage): void {
  if (!METHODS.has(request.method ?? '')) throw methodNotImplemented()
  if (Number(request.headers['content-length'] ?? 0) > MAX_CALL_BYTES) {
    throw payloadTooLarge({}, { headers: { Connection: 'close' } })
  }
}

/** The input of a call without a body, whether one by POST may have none, and the check before any input is parsed. */
interface InputRules {
  readonly url: URL
  readonly mayBeEmpty: boolean
  readonly check?: ((input: Uint8Array) => void) | undefined
  readonly reading: Pick<InputReading, 'maxBytes' | 'maxParts'>
}

/**
 * Reads the input of a call strictly, because tRPC accepts invalid UTF-8 and duplicate keys. Undefined if there is no
 * body. tRPC refuses methods other than POST itself.
 * @throws unsupportedMediaType, payloadTooLarge, invalidBody, invalidRequest, and the errors of `check`
 */
async function readInput(
  request: IncomingMessage,
  { url, check, mayBeEmpty, reading }: InputRules,
): Promise<string | undefined> {
  if (request.method !== 'POST') {
    const input = url.searchParams.get('input')
    const bytes = Buffer.from(input ?? '')
    check?.(bytes)
    if (input !== null) checkJson(bytes, reading)
    return undefined
  }
  if (!isJson(request.headers['content-type']) || (request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupportedMediaType({}, { headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' } })
  }
  const body = await readRawBody(request, reading.maxBytes)
  check?.(body)
  if (body.length === 0 && mayBeEmpty) return undefined
  checkJson(body, reading)
  return body.toString()
}

function checkJson(bytes: Uint8Array, { maxParts }: InputRules['reading']): void {
  const input = parseStrictJson(bytes, { exactNumbers: true, ...(maxParts !== undefined && { maxParts }) })
  if (typeof input !== 'object' || input === null) throw invalidRequest({}, { message: 'The input must be an object' })
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType ?? '')
}
