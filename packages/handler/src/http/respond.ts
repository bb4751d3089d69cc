import { createVerifier, type Verifier, VerifierSettingsError } from '@oncehook/webhooks'
import type { ActOnBatch } from '../batch/act-on-batch.ts'
import { readBatch } from '../batch/read-batch.ts'
import { type HandlerEvent, readEvent } from '../handler-event.ts'
import { type HandlerOptions, HandlerSettingsError } from '../handler-options.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ProcessEvent } from '../process-event.ts'
import { type Answer, answerError, answerJson, type ErrorAnswer } from './answer.ts'
import {
  type BodyChunks,
  type BodyLimits,
  type BodyMemory,
  type BodyPart,
  receiveBody,
  refuseHeaders,
} from './receive-body.ts'

export interface IncomingDelivery {
  readonly method: string
  readonly headers: Headers
  /** @throws TypeError if something else has read it */
  readonly readBody: () => BodyChunks
}

export interface ResponderParts {
  readonly verifier: Verifier
  readonly limits: BodyLimits & { readonly timeoutMs: number }
  /** A body is in it from its first byte until its answer. */
  readonly memory: BodyMemory
  readonly metrics: HandlerMetrics
  readonly process: ProcessEvent
  readonly act: ActOnBatch
}

/** Answers one delivery. Rejects only if something else has read its body. */
export type Responder = (delivery: IncomingDelivery) => Promise<Answer>

// An event that began with the batch has its whole time, and the answer is there before that of the sender is over.
const LAST_MS = 2_000

/** Creates what answers deliveries: reads the body within its limits, verifies it, reads the event or the batch, and acts on it. */
export function createResponder({ verifier, limits, memory, metrics, process, act }: ResponderParts): Responder {
  const reject = (error: ErrorAnswer): Answer => {
    metrics.countRejected(error.status)
    return answerError(error)
  }
  return async (delivery) => {
    const early = refuseHeaders(delivery.method, delivery.headers, limits.maxBytes)
    if (early !== null) return reject(early)
    const part = memory.open()
    const free = (): void => part[Symbol.dispose]()
    const read = await receive({ verifier, limits }, delivery, part).catch((error: unknown) => {
      free()
      throw error
    })
    if ('batch' in read) {
      const answer = await act(read.batch, limits.timeoutMs + LAST_MS, free)
      return 'error' in answer ? answerError(answer) : answerJson(200, { results: answer })
    }
    if ('error' in read) {
      free()
      return reject(read)
    }
    const said = await process(read).finally(free)
    return 'error' in said ? answerError(said) : answerJson(200, said)
  }
}

type Received = HandlerEvent | { readonly batch: readonly (HandlerEvent | null)[] } | ErrorAnswer

async function receive(
  { verifier, limits }: Pick<ResponderParts, 'verifier' | 'limits'>,
  { headers, readBody }: IncomingDelivery,
  part: BodyPart,
): Promise<Received> {
  const body = await receiveBody(readBody(), part, limits)
  if ('error' in body) return body
  const { outcome, ...verified } = await verifier.verify({ rawBody: body, headers })
  if (outcome !== 'verified' && outcome !== 'unreadable') return NOT_AUTHENTIC
  // The verifier reads payments. A body that is JSON but no payment is authentic too.
  if ('code' in verified && verified.code === 'invalid_body') return NO_EVENT
  // An event has a type; a batch has none.
  const event = readEvent(signedIdOf(headers), body)
  if (event !== null) return event
  const batch = readBatch(body)
  return batch === null ? NO_EVENT : { batch }
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
