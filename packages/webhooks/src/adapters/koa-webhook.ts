import { type Adapter, createResponder } from './create-responder.ts'
import { fromNodeRequest, type NodeRequest } from './from-node-request.ts'

/** What the adapter needs of a context of Koa. */
export interface KoaContext {
  readonly req: NodeRequest
  /** The address that Koa finds, by its setting `proxy`. */
  readonly ip: string
  status: number
  body: unknown
  set(headers: Record<string, string>): void
}

export type KoaMiddleware = (ctx: KoaContext) => Promise<void>

/**
 * Creates a middleware for Koa. It answers 200, 204, 400, 401, 405, 413 or 503, and rejects if `onVerified` fails or a
 * body parser has read the body.
 */
export const koaWebhook: Adapter<KoaContext, KoaMiddleware> = (verifier, onVerified, options) => {
  const respond = createResponder(verifier, onVerified, options)
  return async (ctx) => {
    const { status, headers, body } = await respond(fromNodeRequest(ctx.req, { readFrom: () => options?.from?.(ctx) }))
    ctx.status = status
    ctx.set({ ...headers })
    ctx.body = body
  }
}
