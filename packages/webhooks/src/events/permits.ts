import { PAYMENT_EVENT_TYPES, type PaymentEventType, type PaymentFacts, type WebhookEvent } from '../event.ts'
import { type Conditions, meets } from './conditions.ts'

/** What the events of a provider may do. */
export interface Permissions {
  /** Our types that have an effect. */
  readonly effects: readonly PaymentEventType[]
  /** Whether a success without an amount and a currency is refused. */
  readonly requireAmount: boolean
  /** Values that an event must have, otherwise it has no effect. */
  readonly expect: Conditions
}

/** The same in the settings of a provider. The preset of the scheme supplies what is missing. */
export type PermissionSettings = { readonly [Name in keyof Permissions]?: Permissions[Name] | undefined }

/** What the events of a scheme may do, unless the settings say otherwise. */
export interface SchemePermits<Settings> {
  /** Null if the settings must set it. */
  readonly effects: Permissions['effects'] | null
  readonly requireAmount: boolean
  /** Added to what the settings expect. For the same pointer the settings win. */
  readonly expect?: (settings: Settings) => Conditions
  /** The properties (JSON Pointers) that name the mode or the account of an event. A start warns if none is expected. */
  readonly origin?: readonly string[]
  /** The only properties that the signature covers, as JSON Pointers. Absent: it covers every property. */
  readonly signedProperties?: readonly string[]
}

/** The permits of a payment provider that always names an amount. */
export const PAYMENTS = { effects: PAYMENT_EVENT_TYPES, requireAmount: true } as const

export const NO_PAYMENTS = { effects: [], requireAmount: false } as const

/** The permits of a scheme that is not tied to a provider. */
export const EFFECTS_UNKNOWN = { effects: null, requireAmount: false } as const

interface PermitRequest {
  readonly permissions: PermissionSettings
  /** The document for pointers: the signed document, one item of it, or the answer of the provider. */
  readonly document: unknown
  /** Why the event has no effect in any case. */
  readonly withheld?: PaymentFacts['withheld']
}

/** Marks an event that its provider may not send, or that lacks its amount. Neither has an effect. */
export function permit(event: WebhookEvent, { permissions, document, withheld: always }: PermitRequest): WebhookEvent {
  const withheld = always ?? withheldBy(event, { permissions, document })
  if (withheld !== null) return { ...event, facts: { ...event.facts, withheld } }
  const { amount, currency, unreadable } = event.facts
  const isMissing = permissions.requireAmount === true && event.type === 'payment.succeeded' && unreadable === undefined
  if (!isMissing || (amount !== undefined && currency !== undefined)) return event
  return { ...event, facts: { ...event.facts, unreadable: 'amount_missing' } }
}

function withheldBy(event: WebhookEvent, request: PermitRequest): NonNullable<PaymentFacts['withheld']> | null {
  const { permissions, document } = request
  const { effects = PAYMENT_EVENT_TYPES, expect = {} } = permissions
  if (!meets(document, expect)) return 'not_expected'
  const type = PAYMENT_EVENT_TYPES.find((one) => one === event.type)
  return type === undefined || effects.includes(type) ? null : 'effect_not_allowed'
}
