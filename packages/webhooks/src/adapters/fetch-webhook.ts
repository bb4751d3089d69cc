import { type Adapter, createResponder } from './create-responder.ts'
import { BODY_READ } from './from-node-request.ts'
import type { BodyChunks } from './read-raw-body.ts'

/** A handler of the fetch standard. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Creates a handler of the fetch standard: Next.js, Hono and others. It answers 200, 204, 400, 401, 405, 413 or 503,
 * and rejects if `onVerified` does.
 */
export const fetchWebhook: Adapter<Request, FetchHandler> = (verifier, onVerified, options) => {
  const respond = createResponder(verifier, onVerified, options)
  return async (request) => {
    const { method, url, headers } = request
    const [readBody, readFrom] = [() => rawBodyOf(request), () => options?.from?.(request)]
    const answer = await respond({ method, url, headers, readBody, readFrom })
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  }
}

function rawBodyOf(request: Request): BodyChunks {
  if (request.bodyUsed) throw new TypeError(BODY_READ)
  return request.body ?? []
}
