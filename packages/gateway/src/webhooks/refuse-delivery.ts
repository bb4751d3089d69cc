import { type AppError, isFailure, toAppError } from '@oncehook/kernel/http/errors'
import { releaseBuffer } from '@oncehook/kernel/http/server/raw-body'
import { writeBounded } from '@oncehook/kernel/log/bounded-lines'
import type { Logger } from '@oncehook/kernel/log/logger'
import { KEY_ASKED_IN_VAIN } from '@oncehook/webhooks/providers'
import { notChecked, signatureInvalid } from '../errors.ts'
import { workOf } from '../http/address-limits.ts'
import type { GatewayMetrics } from '../metrics.ts'
import { type AdmissionDeps, elapsed, type WebhookCall } from './admission.ts'
import { TRANSMISSION_REUSED } from './confirm-events.ts'
import type { Refusals } from './refusals/refusals.ts'

/** The limits to which rejected deliveries count, and where an alarm goes. */
export interface RefuseDeps extends Pick<AdmissionDeps, 'addresses'> {
  readonly logger: Logger
  readonly metrics: GatewayMetrics
  readonly refusals: Pick<Refusals, 'note'>
  readonly summary: Pick<RefusalSummary, 'add' | 'takeAlarm' | 'takeLine'>
}

/**
 * Counts a rejected delivery towards the limit of its address, notes it for operators and logs it. A body
 * that is not authentic is dropped. Returns the error to send: `rate_limited` if its address is over its limit.
 */
export function refuseDelivery(deps: RefuseDeps, call: WebhookCall, thrown: unknown): AppError {
  const error = countRefused(deps, call, thrown)
  noteRefused(deps, call, error)
  if (signatureInvalid.is(thrown) && call.rawBody !== undefined) releaseBuffer(call.rawBody)
  logRefused(deps, call, error)
  return error
}

function countRefused(deps: RefuseDeps, call: WebhookCall, thrown: unknown): AppError {
  if (signatureInvalid.is(thrown)) return countForged(deps, call, thrown)
  const error = toAppError(thrown)
  // An unchecked delivery counts too: anybody can send any number of them.
  return notChecked.is(error) ? (deps.addresses.charge(call.address, 0, error.details) ?? error) : error
}

// The cost of reading a body, in addition to its check.
const BYTES_PER_MS = 1_048_576

/** Counts a delivery that is not authentic, and charges its address for the check. */
function countForged(deps: RefuseDeps, call: WebhookCall, refused: AppError): AppError {
  const { provider, address, rawBody, workMs, ids } = call
  const { addresses, metrics, logger, summary } = deps
  const bytes = rawBody?.length ?? 0
  const { reason, transmissionId } = refused.details
  metrics.unverified(provider.name, String(reason))
  const tooMany = addresses.charge(address, workOf(workMs, bytes) + bytes / BYTES_PER_MS, refused.details)
  if (reason === TRANSMISSION_REUSED) {
    metrics.transmissionReused(provider.name)
    // Beyond the limit of its address, a reuse is only counted: otherwise one intercepted delivery could fill the log.
    if (tooMany === null && summary.takeAlarm())
      logger.error({ ...ids, provider: provider.name, transmissionId }, 'webhook.transmission-reused')
  }
  return tooMany ?? refused
}

const PLAIN = /^[a-z_]{1,40}$/

/** Keeps what operators may see of a delivery that the sender got wrong. Its body must still be there. */
function noteRefused({ refusals }: RefuseDeps, call: WebhookCall, error: AppError): void {
  const { code, status, message, details } = error
  if (status >= 500) return
  const { provider, address, ids, request, rawBody } = call
  const why = typeof details.reason === 'string' && PLAIN.test(details.reason) ? details.reason : null
  const { rawHeaders, url } = request
  const refused = { provider, address, requestId: ids.requestId, rawHeaders, rawBody, url }
  const { items } = details
  const which = typeof items === 'string' ? `: items ${items}, counted from 0; the others are stored` : ''
  refusals.note(refused, { code, status, message: `${message}${which}`, why })
}

/** Counts a rejected delivery and logs it: in a separate line, or in the summary if there are too many. */
function logRefused({ logger, metrics, summary }: RefuseDeps, call: WebhookCall, error: AppError): void {
  const { ids, address } = call
  const { name: provider } = call.provider
  const { code, status, details } = error
  metrics.delivered(provider, isAskedInVain(error) ? ASKED_IN_VAIN : code)
  const line = { ...ids, provider, status, code, ...details, ms: elapsed(call) }
  // An unchecked delivery may come from anybody. It is not our failure, and nobody must be woken up for it.
  if (isFailure(status) && !notChecked.is(error)) {
    const one = (): void => logger.error({ ...line, error }, 'webhook.failed')
    const many = (counted: object): void => logger.error(counted, 'webhook.failed')
    writeBounded(logger, 'webhook.failed', { provider, status, code }, { one, many })
  } else if (status !== 429 && summary.takeLine()) logger.warn({ ...line, address }, 'webhook.refused')
  else summary.add({ ...details, requestId: ids.requestId, provider, address, status, code })
}

// The sender's requests are the reason for its wait. Every dependency is available.
const ASKED_IN_VAIN = 'asked_in_vain'

function isAskedInVain(error: AppError): boolean {
  return notChecked.is(error) && error.details.reason === KEY_ASKED_IN_VAIN
}

/** A rejected delivery that is counted instead of logged in a separate line. */
interface CountedRefusal {
  readonly requestId: string
  readonly provider: string
  readonly address: string
  readonly status: number
  readonly code: string
  /** Why the delivery was not authentic, if that is known. */
  readonly reason?: unknown
}

type Counted = CountedRefusal & { times: number }

const MOST_LINES = 100
const MOST_ALARMS = 10
const OTHERS = 'others'

/**
 * Limits the log lines of rejected deliveries, whatever addresses they come from. Otherwise a flood would push all older
 * lines out of a rotated log. In each turn, 100 deliveries get a separate line and 10 get an alarm. The others are counted
 * in one line per address, provider and code. Beyond 100 of these lines, all others share one.
 */
export class RefusalSummary {
  readonly #logger: Pick<Logger, 'warn'>
  #counted = new Map<string, Counted>()
  #lines = 0
  #alarms = 0

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  /** Takes a separate line for a rejected delivery; false if this turn has none left. */
  takeLine(): boolean {
    this.#lines += 1
    return this.#lines <= MOST_LINES
  }

  /** Takes a line for an alarm; false if this turn has none left. */
  takeAlarm(): boolean {
    this.#alarms += 1
    return this.#alarms <= MOST_ALARMS
  }

  add(refusal: CountedRefusal): void {
    const { provider, address, code } = refusal
    const own = `${provider} ${address} ${code}`
    const isOther = !this.#counted.has(own) && this.#counted.size >= MOST_LINES
    const key = isOther ? OTHERS : own
    const counted = this.#counted.get(key)
    if (counted !== undefined) counted.times += 1
    else this.#counted.set(key, { ...refusal, ...(isOther ? { provider: OTHERS, address: OTHERS } : {}), times: 1 })
  }

  /** Writes the lines of this turn, and begins the next turn. Call it every second. */
  write(): void {
    this.#lines = 0
    this.#alarms = 0
    const counted = this.#counted
    if (counted.size === 0) return
    this.#counted = new Map()
    for (const line of counted.values()) this.#logger.warn(line, 'webhook.refused')
  }
}
