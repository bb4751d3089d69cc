import { writeJson } from './json-body.ts'
import { type PaymentEvent, type PaymentTypes, plainTypes, toSchemeType } from './payment-event.ts'
import type { Signer, SigningSettings } from './signer.ts'

export interface SchemeEvent extends PaymentEvent {
  readonly type: string
  readonly failed: boolean
  readonly at: string
  readonly seconds: number
}

export function toSchemeEvent(event: PaymentEvent, types: PaymentTypes): SchemeEvent {
  const type = toSchemeType(types, event.type)
  const at = new Date(event.occurredAt).toISOString()
  return { ...event, type, failed: type === types.failed, at, seconds: Math.floor(event.occurredAt / 1000) }
}

/** The other properties of a signer with JSON bodies. It reads only the settings that it names. */
type JsonSigning = Omit<Signer, 'types' | 'settings' | 'writeEvent'> & Partial<Pick<Signer, 'settings'>>

export function jsonSigner(types: PaymentTypes, toBody: (event: SchemeEvent) => object, signing: JsonSigning): Signer {
  return { types, settings: [], writeEvent: (event) => writeJson(toBody(toSchemeEvent(event, types))), ...signing }
}

/** The gateway settings for a scheme without payments: which events mean a payment, and where the order is (JSON Pointer). */
export function mapToPayments(types: PaymentTypes, order: string): SigningSettings {
  return { events: { [types.succeeded]: plainTypes.succeeded, [types.failed]: plainTypes.failed }, read: { order } }
}
