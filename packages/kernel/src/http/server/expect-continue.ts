import type { IncomingMessage, ServerResponse } from 'node:http'

const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Defers the 100 response (RFC 9110 section 10.1.1) until the body is wanted. If the final response comes first, Node
 * closes the connection, because further input could be the body or the next request.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response)
}

/** Sends the deferred 100 response, if any. Call this before reading the body. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request)
  waiting.delete(request)
  if (response?.headersSent === false) response.writeContinue()
}
