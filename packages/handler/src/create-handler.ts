import { withTimeout } from '@oncehook/kernel/time/waits'
import { createBackground } from './background.ts'
import { createActOnBatch } from './batch/act-on-batch.ts'
import { createGuardedLog, createJsonLog, writeToStream } from './handler-log.ts'
import { checkOptions, findFunctions, type HandlerOptions } from './handler-options.ts'
import { NOT_FOUND } from './http/answer.ts'
import { createRequests } from './http/create-requests.ts'
import { type Listening, listen } from './http/listen.ts'
import { createBodyMemory } from './http/receive-body.ts'
import { createResponder, createStandardVerifier, type Responder } from './http/respond.ts'
import { createMetrics } from './metrics.ts'
import { createProcessing } from './process-event.ts'
import { createSlots } from './slots.ts'
import { PROCEDURE } from './trpc/answer-call.ts'
import { createCallResponder } from './trpc/respond-to-call.ts'

export type { HandlerEvent } from './handler-event.ts'
export type { LogLine, WriteLog } from './handler-log.ts'
export {
  type EventFunction,
  type HandlerOptions,
  type HandlerSecret,
  HandlerSettingsError,
  type LaterFunction,
  type LaterLimits,
  type LaterMessage,
} from './handler-options.ts'
export { Refusal, type RefusalOptions, type RetryAdvice } from './refusal.ts'
export type { LaterTransaction, Store } from './store.ts'
export type { TrpcOptions } from './trpc/trpc-options.ts'

/** A handler of webhooks. */
export interface Handler {
  /**
   * Answers a delivery, for a server that has handlers of the fetch standard. With `trpc`, it also answers calls: requests
   * whose path ends in `/events.handle`. Call `work` too.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Serves the paths of the options, `/livez`, `/readyz` and `/metrics`, and works as `work` does. Resolves to the port.
   * Default of `host`: `127.0.0.1`. A handler listens once.
   */
  listen(port: number, host?: string): Promise<number>
  /** Sends the messages of `tx.later`, and removes expired keys, until `close`. */
  work(): void
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>
  /** Whether the database answers and is set up, and the handler is not closing. */
  isReady(): Promise<boolean>
  /**
   * Accepts no more, waits for what runs, and stops. Resolves within about `graceMs`. It does not close the pool or the
   * client of the store. Default: 10,000.
   */
  close(graceMs?: number): Promise<void>
}

/** The clock, the randomness and the output of a handler. */
export interface HandlerDeps {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  readonly random?: () => number
}

/**
 * Creates a handler: each event has its effect once, however often it is delivered.
 * @throws HandlerSettingsError with every problem of the options
 */
export function createHandler<Tx>(options: HandlerOptions<Tx>, deps: HandlerDeps = {}): Handler {
  const { store, on, later = {} } = options
  const log = createGuardedLog(options.log ?? createJsonLog((line) => writeToStream(process.stderr, line)))
  const { random = Math.random, now = Date.now } = deps
  const { name, path, limits, later: laterLimits, trpc } = checkOptions(options as HandlerOptions<never>, now)
  const [metrics, slots] = [createMetrics(name), createSlots(limits.concurrency, limits.mostWaiting)]
  const background = createBackground({ store, handler: name, later, limits: laterLimits, metrics, log, random })
  const processing = createProcessing({
    ...{ store, slots, metrics, log, limits, handler: name, find: findFunctions(on) },
    refusesUnhandled: options.unhandled === 'refuse',
    laterNames: new Set(Object.keys(later)),
    now: () => performance.now(),
    onMessages: background.wake,
  })
  const act = createActOnBatch({ concurrency: limits.concurrency, metrics, ...processing })
  const receiving = { limits, memory: createBodyMemory(limits.mostBodyBytes), metrics, act }
  const isOnlyCalled = trpc !== null && options.secrets === undefined
  const respond = isOnlyCalled
    ? answerNothing
    : createResponder({ ...receiving, process: processing.one, verifier: createStandardVerifier(options, now) })
  const { bodyTimeoutMs } = limits
  const respondToCall = trpc && createCallResponder({ ...receiving, trpc, bodyTimeoutMs })
  const requests = createRequests({ respond, respondToCall, store, handler: name, metrics, slots })
  const responders = new Map([[path, requests.respond]])
  if (trpc !== null && requests.respondToCall !== null) {
    responders.set(`${trpc.path}/${PROCEDURE}`, requests.respondToCall)
  }
  let server: Promise<Listening> | undefined
  return {
    fetch: requests.fetch,
    async listen(port, host = '127.0.0.1') {
      if (server !== undefined) throw new Error('The handler listens already')
      const onError = (error: unknown): void => log({ level: 'error', message: 'A request failed', error })
      server = listen({ responders, probe: requests.probe, onError }, port, host)
      const listening = await server.catch((error: unknown) => {
        server = undefined
        throw error
      })
      background.start()
      return listening.port
    },
    work: background.start,
    metrics: requests.metrics,
    isReady: requests.isReady,
    async close(graceMs = 10_000) {
      requests.refuse()
      // If it cannot listen, the caller of `listen` learns of it.
      const listening = await server?.catch(() => undefined)
      // A request whose body was still arriving may begin something until its connection ends.
      const drain = async (): Promise<void> => {
        await listening?.close(graceMs)
        await slots.drained()
      }
      await Promise.all([withTimeout(drain(), graceMs), background.stop(graceMs)])
    },
  }
}

const answerNothing: Responder = async () => NOT_FOUND
