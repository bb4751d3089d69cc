import { type Adapter, createResponder } from './create-responder.ts'
import { fromNodeRequest, type NodeRequest } from './from-node-request.ts'

/** What the adapter needs of a request of Fastify. */
export interface FastifyRequest {
  readonly raw: NodeRequest
  /** The address that Fastify finds, by its option `trustProxy`. */
  readonly ip: string
}

/** What the adapter needs of a reply of Fastify. */
export interface FastifyReply {
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string | null): unknown
}

/** What the adapter needs of the instance that a plugin of Fastify gets. */
export interface FastifyScope {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(type: string, parse: ContentTypeParser): unknown
  route(route: {
    method: ('GET' | 'POST')[]
    url: string
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  }): unknown
}

type ContentTypeParser = (request: unknown, payload: unknown, done: (error: null, body?: unknown) => void) => void

export type FastifyPlugin = (scope: FastifyScope) => Promise<void>

/**
 * Creates a plugin for Fastify. Register it with the path as its `prefix`. It answers 200, 204, 400, 401, 405, 413 or
 * 503; an error of `onVerified` goes to Fastify's error handler. The content type parsers of other routes stay as they
 * are.
 */
export const fastifyWebhook: Adapter<FastifyRequest, FastifyPlugin> = (verifier, onVerified, options) => {
  const respond = createResponder(verifier, onVerified, options)
  return async (scope) => {
    // Fastify would parse the body before anything is verified. In a plugin this is for its own routes only.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.route({
      method: ['GET', 'POST'],
      url: '/',
      handler: async (request, reply) => {
        const readFrom = () => options?.from?.(request)
        const { status, headers, body } = await respond(fromNodeRequest(request.raw, { readFrom }))
        reply.code(status)
        reply.headers({ ...headers })
        return reply.send(body)
      },
    })
  }
}
