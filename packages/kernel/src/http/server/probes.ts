import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { Registry } from 'prom-client'
import type { Logger } from '../../log/logger.ts'
import type { Lifecycle } from '../../time/lifecycle.ts'
import { oneAtATime, TIMED_OUT, withTimeout } from '../../time/waits.ts'
import { methodNotAllowed, notFound } from '../error-codes.ts'
import { guardFraming } from './framing-guard.ts'
import { listen } from './listen.ts'
import type { CallsByOwnName } from './own-names.ts'
import { logFailure, logRefused, sendError } from './send-error.ts'

/** A dependency that must be reachable for the service to be ready: a name, and a check that throws if it is not. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>

export type ShownMetrics = Pick<Registry, 'contentType' | 'metrics'>

export interface ProbeOptions {
  readonly checks: ReadinessChecks
  /** Null: `/metrics` is served by another listener. */
  readonly metrics: ShownMetrics | null
  /** Monotonic milliseconds. Default: those of the process. */
  readonly now?: () => number
}

const CHECK_MS = 2_500
const SHARED_MS = 1_000
const ALLOW = { headers: { Allow: 'GET, HEAD' } }

/**
 * Creates the handler of `/livez` (the process responds), `/readyz` (each dependency by name, 503 if one is
 * unavailable) and `/metrics` (Prometheus text). It resolves to false for any other path without touching the
 * request. All who ask within a second get the same answer: nobody needs a token, so a flood must cost no more than one.
 */
export function createProbes({
  checks,
  metrics,
  now = () => performance.now(),
}: ProbeOptions): (...call: Parameters<RequestListener>) => Promise<boolean> {
  const probes = new Map<string, Probe>([
    ['/livez', live],
    ['/readyz', shared(() => readiness(checks), now)],
  ])
  if (metrics !== null)
    probes.set(
      '/metrics',
      shared(() => measured(metrics), now),
    )
  return async (request, response) => {
    const probe = probes.get(request.url?.split('?', 1)[0] ?? '')
    if (probe === undefined) return false
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      await sendError(response, methodNotAllowed({}, ALLOW), {
        requestId: String(response.getHeader('X-Request-Id') ?? ''),
      })
      return true
    }
    const { status, type, body } = await probe()
    response.writeHead(status, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
    return true
  }
}

interface ProbeAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

type Probe = () => Promise<ProbeAnswer>

function shared(look: Probe, now: () => number): Probe {
  let latest: { readonly answer: ProbeAnswer; readonly at: number } | null = null
  const lookAgain = oneAtATime(async () => {
    const answer = await look()
    latest = { answer, at: now() }
    return answer
  })
  return async () => (latest !== null && now() - latest.at < SHARED_MS ? latest.answer : lookAgain())
}

const JSON_TYPE = 'application/json; charset=utf-8'

async function live(): Promise<ProbeAnswer> {
  return { status: 200, type: JSON_TYPE, body: '{"status":"ok"}' }
}

async function measured(metrics: ShownMetrics): Promise<ProbeAnswer> {
  return { status: 200, type: metrics.contentType, body: await metrics.metrics() }
}

async function readiness(checks: ReadinessChecks): Promise<ProbeAnswer> {
  const results = await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await stateOf(check)]))
  const ready = results.every(([, state]) => state === 'ok')
  const body = JSON.stringify({ status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) })
  return { status: ready ? 200 : 503, type: JSON_TYPE, body }
}

async function stateOf(check: () => Promise<unknown>): Promise<'ok' | 'unavailable'> {
  try {
    return (await withTimeout(check(), CHECK_MS)) === TIMED_OUT ? 'unavailable' : 'ok'
  } catch {
    return 'unavailable'
  }
}

export interface MetricsListenerOptions {
  readonly host: string
  readonly port: number
  readonly isOwnName: CallsByOwnName
  readonly metrics: ShownMetrics
  readonly logger: Logger
  readonly lifecycle: Lifecycle
}

/**
 * Opens a listener that serves only `/metrics`, so that clients of the metrics cannot reach endpoints that require
 * tokens. Resolves to its port.
 * @throws SettingsError if the address cannot be bound
 */
export async function openMetricsListener(options: MetricsListenerOptions): Promise<number> {
  const { host, port, isOwnName, metrics, logger, lifecycle } = options
  const probes = createProbes({ checks: {}, metrics })
  const listener = await listen({
    host,
    port,
    ...guardFraming({
      handler(request, response) {
        const requestId = randomUUID()
        response.setHeader('X-Request-Id', requestId)
        if (request.url?.split('?', 1)[0] !== '/metrics') {
          void sendError(response, notFound(), { requestId })
          return
        }
        probes(request, response).catch((error: unknown) => {
          void sendError(response, logFailure(logger, error, { requestId, method: request.method }), { requestId })
        })
      },
      isOwnName,
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
  })
  lifecycle.onStop({ name: 'metrics listener', withinMs: 1_000, stop: () => listener.close(500) })
  return listener.port
}
