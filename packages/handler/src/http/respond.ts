import { createVerifier, type Verification, type Verifier, VerifierSettingsError } from '@oncehook/webhooks'
import { type HandlerEvent, readEvent } from '../handler-event.ts'
import { type HandlerOptions, HandlerSettingsError } from '../handler-options.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ProcessEvent } from '../process-event.ts'
import { type Answer, answerError, answerJson, type ErrorAnswer } from './answer.ts'
import { type BodyChunks, type BodyLimits, type BodyMemory, receiveBody, refuseHeaders } from './receive-body.ts'

export interface IncomingDelivery {
  readonly method: string
  readonly headers: Headers
  /** @throws TypeError if something else has read it */
  readonly readBody: () => BodyChunks
}

export interface ResponderParts {
  readonly verifier: Verifier
  readonly limits: BodyLimits
  /** A body is in it from its first byte until its answer. */
  readonly memory: BodyMemory
  readonly metrics: HandlerMetrics
  readonly process: ProcessEvent
}

/** Answers one delivery. Rejects only if something else has read its body. */
export type Responder = (delivery: IncomingDelivery) => Promise<Answer>

/** Creates what answers deliveries: reads the body within its limits, verifies it, reads the event, and acts on it. */
export function createResponder({ verifier, limits, memory, metrics, process }: ResponderParts): Responder {
  const reject = (error: ErrorAnswer): Answer => {
    metrics.countRejected(error.status)
    return answerError(error)
  }
  return async ({ method, headers, readBody: start }) => {
    const early = refuseHeaders(method, headers, limits.maxBytes)
    if (early !== null) return reject(early)
    using part = memory.open()
    const body = await receiveBody(start(), part, limits)
    if ('error' in body) return reject(body)
    const event = readVerified(await verifier.verify({ rawBody: body, headers }), headers, body)
    if ('error' in event) return reject(event)
    const said = await process(event)
    return 'error' in said ? answerError(said) : answerJson(200, said)
  }
}

function readVerified(result: Verification, headers: Headers, body: Uint8Array): HandlerEvent | ErrorAnswer {
  if (result.outcome !== 'verified' && result.outcome !== 'unreadable') return NOT_AUTHENTIC
  // The verifier reads payments. A body that is JSON but no payment is authentic too.
  const isJson = result.outcome === 'verified' || result.code !== 'invalid_body'
  return (isJson ? readEvent(signedIdOf(headers), body) : null) ?? NO_EVENT
}

const NOT_AUTHENTIC: ErrorAnswer = {
  ...{ status: 401, error: 'not_authentic', retry: 'never' },
  message: 'The delivery is not authentic',
}
const NO_EVENT: ErrorAnswer = {
  ...{ status: 400, error: 'not_an_event', retry: 'never' },
  message: 'The body is not a JSON object with a type',
}

/** The id that the verifier has found in the signed text: that of the header family with a signature. */
function signedIdOf(headers: Headers): string {
  return headers.get(headers.has('webhook-signature') ? 'webhook-id' : 'svix-id') ?? ''
}

/** @throws HandlerSettingsError */
export function createStandardVerifier(
  { secrets = [], toleranceSeconds = 300 }: Pick<HandlerOptions<never>, 'secrets' | 'toleranceSeconds'>,
  now: () => number,
): Verifier {
  try {
    return createVerifier({ scheme: 'standard-webhooks', effects: [], secrets, toleranceSeconds }, { now })
  } catch (error) {
    if (!(error instanceof VerifierSettingsError)) throw error
    throw new HandlerSettingsError(error.problems)
  }
}
