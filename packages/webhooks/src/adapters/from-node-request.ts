import type { WebhookRequest } from './create-responder.ts'
import type { BodyChunks } from './read-raw-body.ts'

/** What the adapters need of an `IncomingMessage` of Node.js. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly rawHeaders: readonly string[]
  /** Whether anything was read from the body. */
  readonly readableDidRead: boolean
}

/** The properties that a framework adds to a request of Node.js. */
interface Known extends Pick<WebhookRequest, 'readFrom'> {
  /** What a body parser has made of the body: bytes are used, anything else is no use. */
  readonly body?: unknown
}

/** A request of Node.js. */
export function fromNodeRequest(request: NodeRequest, { readFrom, body }: Known): WebhookRequest {
  const { method = 'GET', url = '/', rawHeaders } = request
  return { method, url, headers: rawHeaders, readBody: () => rawBodyOf(request, body), readFrom }
}

function rawBodyOf(request: NodeRequest, body: unknown): BodyChunks {
  if (body instanceof Uint8Array) return [body]
  if (request.readableDidRead) throw new TypeError(BODY_READ)
  return request
}

/** What an adapter says if there is no raw body left to verify. */
export const BODY_READ =
  'The raw body was read before the webhook adapter: mount the adapter before any body parser, and do not read the body'
