import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { releaseBuffer } from '@oncehook/kernel/http/release-buffer'
import type { Logger } from '@oncehook/kernel/logger'
import { CERTIFICATE_ASKED_IN_VAIN } from '@oncehook/webhooks/providers'
import { notChecked, signatureInvalid } from '../../errors.ts'
import type { DeliveryMetrics } from '../../metrics.ts'
import { TRANSMISSION_REUSED } from '../../receive/confirm-events.ts'
import type { Refusals } from '../../refusals/refusals.ts'
import type { Allowance } from '../rate-limit.ts'
import { type AdmissionDeps, isCheap, type WebhookCall } from './admission.ts'
import { workOf } from './check-budget.ts'
import { elapsed } from './log-delivery.ts'
import type { RefusalSummary } from './refusal-summary.ts'
import { isSearchable } from './searched-bodies.ts'

/** The limits to which rejected deliveries count, and where an alarm goes. */
export interface RefuseDeps extends Pick<AdmissionDeps, 'limits' | 'known' | 'checks' | 'turns'> {
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
  readonly refusals: Pick<Refusals, 'note'>
  readonly summary: Pick<RefusalSummary, 'add' | 'takeAlarm' | 'takeLine'>
}

/**
 * Counts a rejected delivery towards the limits of its address and its provider, notes it for operators and logs it. A body
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
  return notChecked.is(error) ? countUnchecked(deps, call, error) : error
}

// The cost of reading a body, in addition to its check.
const BYTES_PER_MS = 1_048_576

/** Counts a delivery that is not authentic, and charges its address for the check. */
function countForged(deps: RefuseDeps, call: WebhookCall, refused: AppError): AppError {
  const { provider, address, rawBody, workMs } = call
  const { limits, metrics, checks, turns } = deps
  const bytes = rawBody?.length ?? 0
  metrics.unverified(provider.name, String(refused.details.reason))
  const ms = workOf(workMs, bytes)
  checks.charge(address, ms + bytes / BYTES_PER_MS)
  if (!isCheap(bytes)) turns.rest(ms)
  const allowance = limits.failed.count(address)
  if (allowance.remaining < 0 && isSearchable(deps, call)) limits.searched.count(provider.name)
  if (refused.details.reason === TRANSMISSION_REUSED) alarmOfReuse(deps, call, { refused, allowance })
  return allowance.remaining < 0 ? limits.failed.refusal(allowance, refused.details) : refused
}

interface Reuse {
  readonly refused: AppError
  readonly allowance: Allowance
}

/** Beyond the limit of its address, a reuse is only counted: otherwise one intercepted delivery could fill the log. */
function alarmOfReuse(deps: RefuseDeps, call: WebhookCall, { refused, allowance }: Reuse): void {
  const { metrics, logger, summary } = deps
  const { ids, provider } = call
  metrics.transmissionReused(provider.name)
  if (allowance.remaining < 0 || !summary.takeAlarm()) return
  const { transmissionId } = refused.details
  logger.error({ ...ids, provider: provider.name, transmissionId }, 'webhook.transmission-reused')
}

/** Counts an unchecked delivery towards the limit of its address: a stranger can send any number of them. */
function countUnchecked({ limits }: RefuseDeps, { address }: WebhookCall, error: AppError): AppError {
  const allowance = limits.failed.count(address)
  return allowance.remaining < 0 ? limits.failed.refusal(allowance, error.details) : error
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
  if (status >= 500 && !notChecked.is(error)) logger.error({ ...line, error }, 'webhook.failed')
  else if (status !== 429 && summary.takeLine()) logger.warn({ ...line, address }, 'webhook.refused')
  else summary.add({ ...details, requestId: ids.requestId, provider, address, status, code })
}

// The sender's requests are the reason for its wait. Every dependency is available.
const ASKED_IN_VAIN = 'asked_in_vain'

function isAskedInVain(error: AppError): boolean {
  return notChecked.is(error) && error.details.reason === CERTIFICATE_ASKED_IN_VAIN
}
