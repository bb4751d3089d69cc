import { bytesOf } from '../raw-bytes.ts'
import type { WebhookRequest } from './create-responder.ts'
import type { BodyChunks } from './read-raw-body.ts'

/** What the adapters need of an `IncomingMessage` of Node.js. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly rawHeaders: readonly string[]
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Set once something has called `setEncoding`: the body is no longer read as bytes. */
  readonly readableEncoding: string | null
  /** Whether anything was read from the body. */
  readonly readableDidRead: boolean
}

/** The properties that a framework adds to a request of Node.js. */
interface Known extends Pick<WebhookRequest, 'readFrom'> {
  /** What may hold the body after a body parser: the first bytes are used, anything else is no use. */
  readonly parsed?: readonly unknown[]
}

export function fromNodeRequest(request: NodeRequest, { readFrom, parsed = [] }: Known): WebhookRequest {
  const { method = 'GET', url = '/', rawHeaders } = request
  // A request that is made from the event of a cloud function has no lines, as serverless-http makes it.
  const headers = rawHeaders.length > 0 ? rawHeaders : request.headers
  return { method, url, headers, readBody: () => rawBodyOf(request, parsed), readFrom }
}

function rawBodyOf(request: NodeRequest, parsed: readonly unknown[]): BodyChunks {
  const bytes = parsed.map(bytesOf).find((one) => one !== null)
  if (bytes !== undefined) return [bytes]
  if (request.readableDidRead) throw new TypeError(BODY_READ)
  if (request.readableEncoding !== null) throw new TypeError(BODY_DECODED)
  return request
}

const BODY_DECODED =
  'The body is no longer read as bytes: something called setEncoding() before the webhook adapter, so mount the adapter first'

/** What an adapter says if there is no raw body left to verify. */
export const BODY_READ =
  'The raw body was read before the webhook adapter: mount the adapter before any body parser, and do not read the body'
