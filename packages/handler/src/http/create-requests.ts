import { oneAtATime, TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import type { HandlerMetrics } from '../metrics.ts'
import type { Slots } from '../slots.ts'
import type { Store } from '../store.ts'
import { answerCallError, PROCEDURE } from '../trpc/answer-call.ts'
import { type Answer, answerError, answerJson, type ErrorAnswer } from './answer.ts'
import type { BodyChunks } from './receive-body.ts'
import type { Responder } from './respond.ts'

export interface RequestParts {
  readonly respond: Responder
  /** Answers calls of the gateway by `trpc`. Null: there are none. */
  readonly respondToCall: Responder | null
  readonly store: Pick<Store<never>, 'ping' | 'outbox'>
  readonly handler: string
  readonly metrics: HandlerMetrics
  readonly slots: Slots
}

const CHECK_MS = 2_500
const CLOSING: ErrorAnswer = {
  ...{ status: 503, error: 'closing', retry: 'later', retryAfter: 1, headers: { connection: 'close' } },
  message: 'The handler is closing',
}

export function createRequests({ respond, respondToCall: call, store, handler, metrics, slots }: RequestParts) {
  let closing = false
  // Anybody can ask, as often as they like: however many do, it takes one connection of the pool that the events need.
  const ping = oneAtATime(() => inTime(store.ping()))
  const count = oneAtATime(() => inTime(store.outbox.count(handler)))
  const isReady = async (): Promise<boolean> => !closing && (await ping()) !== null
  const text = async (): Promise<string> => metrics.write({ inFlight: slots.inUse, messages: await count() })
  const guarded: Responder = async (delivery) => (closing ? answerError(CLOSING) : respond(delivery))
  const respondToCall: Responder | null =
    call && (async (delivery) => (closing ? answerCallError(CLOSING) : call(delivery)))
  const probes: Readonly<Record<string, () => Promise<Answer>>> = {
    '/livez': async () => answerJson(200, { status: 'ok' }),
    async '/readyz'() {
      return (await isReady()) ? answerJson(200, { status: 'ok' }) : answerJson(503, { status: 'unavailable' })
    },
    '/metrics': async () => ({ status: 200, headers: { 'content-type': METRICS_TYPE }, body: await text() }),
  }
  return {
    ...{ respond: guarded, respondToCall, metrics: text, isReady },
    /** The answer to a GET of a probe; null for any other path. */
    probe: (path: string) => (Object.hasOwn(probes, path) ? (probes[path]?.() ?? null) : null),
    async fetch(request: Request): Promise<Response> {
      const { method, headers, url } = request
      const isCall = respondToCall !== null && new URL(url).pathname.endsWith(`/${PROCEDURE}`)
      const answer = await (isCall ? respondToCall : guarded)({ method, headers, readBody: () => bodyOf(request) })
      return new Response(answer.body, { status: answer.status, headers: answer.headers })
    },
    /** Refuses all deliveries from now on. */
    refuse(): void {
      closing = true
    },
  }
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The value, or null if the database does not answer in time. */
async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  try {
    const answer = await withTimeout(asked, CHECK_MS)
    return answer === TIMED_OUT ? null : answer
  } catch {
    return null
  }
}

function bodyOf(request: Request): BodyChunks {
  if (request.bodyUsed) throw new TypeError('The body was read before the handler: do not use a body parser')
  return request.body ?? []
}
