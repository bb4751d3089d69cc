import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { releaseBuffer } from '@oncehook/kernel/http/server/raw-body'
import type { Logger } from '@oncehook/kernel/log/logger'
import { KEY_ASKED_IN_VAIN } from '@oncehook/webhooks/providers'
import { notChecked, signatureInvalid } from '../../errors.ts'
import type { DeliveryMetrics } from '../../metrics.ts'
import { TRANSMISSION_REUSED } from '../../receive/confirm-events.ts'
import type { Refusals } from '../../refusals/refusals.ts'
import { workOf } from '../address-limits.ts'
import type { AdmissionDeps, WebhookCall } from './admission.ts'
import { elapsed } from './log-delivery.ts'
import type { RefusalSummary } from './refusal-summary.ts'

/** The limits to which rejected deliveries count, and where an alarm goes. */
export interface RefuseDeps extends Pick<AdmissionDeps, 'addresses'> {
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
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
  if (status >= 500 && !notChecked.is(error)) logger.error({ ...line, error }, 'webhook.failed')
  else if (status !== 429 && summary.takeLine()) logger.warn({ ...line, address }, 'webhook.refused')
  else summary.add({ ...details, requestId: ids.requestId, provider, address, status, code })
}

// The sender's requests are the reason for its wait. Every dependency is available.
const ASKED_IN_VAIN = 'asked_in_vain'

function isAskedInVain(error: AppError): boolean {
  return notChecked.is(error) && error.details.reason === KEY_ASKED_IN_VAIN
}
