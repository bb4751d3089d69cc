import type { IncomingMessage, ServerResponse } from 'node:http'

const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Lets a sender that expects a 100 (RFC 9110 section 10.1.1) wait until its body is wanted. Node ends the connection after
 * an answer that comes before, for nobody could tell whether what follows is that body or the next request.
 */
export function holdContinue(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response)
}

/** Tells a sender that waits for it to go on: its body is about to be read. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request)
  waiting.delete(request)
  if (response?.headersSent === false) response.writeContinue()
}
