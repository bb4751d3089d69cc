import { type Adapter, createResponder } from './create-responder.ts'
import { fromNodeRequest, type NodeRequest } from './from-node-request.ts'

/** What the adapter needs of a request of Express. */
export interface ExpressRequest extends NodeRequest {
  /** Used if it holds bytes, from `express.raw()`. */
  readonly body?: unknown
  /** Used if it holds bytes, from Google Cloud Functions, Firebase, or NestJS with `rawBody: true`. */
  readonly rawBody?: unknown
  /** The address that Express finds, by its setting `trust proxy`. */
  readonly ip?: string | undefined
}

/** What the adapter needs of a response of Express. */
export interface ExpressResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: string | undefined): unknown
}

export type ExpressHandler = (
  request: ExpressRequest,
  response: ExpressResponse,
  next: (error: unknown) => void,
) => Promise<void>

/**
 * Creates a handler for Express, and for every server with the same handler signature. It answers 200, 204, 400, 401, 405,
 * 413 or 503, and passes the error to `next` if `onVerified` fails or a body parser has read the body.
 */
export const expressWebhook: Adapter<ExpressRequest, ExpressHandler> = (verifier, onVerified, options) => {
  const respond = createResponder(verifier, onVerified, options)
  return async (request, response, next) => {
    try {
      const parsed = [request.body, request.rawBody]
      const known = { parsed, readFrom: () => options?.from?.(request) }
      const { status, headers, body } = await respond(fromNodeRequest(request, known))
      response.writeHead(status, { ...headers })
      response.end(body ?? undefined)
    } catch (error) {
      next(error)
    }
  }
}
