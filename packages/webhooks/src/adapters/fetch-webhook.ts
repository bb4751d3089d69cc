import type { Verifier } from '../create-verifier.ts'
import { type AdapterOptions, createResponder, type OnVerified } from './create-responder.ts'
import { BODY_READ } from './from-node-request.ts'
import type { BodyChunks } from './read-raw-body.ts'

/**
 * Creates a handler of the fetch standard: Next.js, Hono and others. It answers 200, 204, 400, 401, 405, 413 or 503,
 * and rejects if `onVerified` does.
 */
export function fetchWebhook(
  verifier: Verifier,
  onVerified: OnVerified,
  options?: AdapterOptions<Request>,
): (request: Request) => Promise<Response> {
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
