// The entry for programs that keep the settings of providers as data and store deliveries, as the gateway does.

export { createProvider } from './create-provider.ts'
export { type Delivery, headerLines, singleHeader, type VerifiedDelivery } from './delivery.ts'
export { eventInvalid, overloaded } from './errors.ts'
export {
  isPaymentEventType,
  PAYMENT_EVENT_TYPES,
  type PaymentEventType,
  type PaymentFacts,
  type UnhandledReason,
  unhandledReason,
  type WebhookEvent,
} from './event.ts'
export { type Alternatives, firstUnmet, pointersOf } from './events/conditions.ts'
export { isObject } from './events/json-object.ts'
export { resolvePointer } from './events/json-pointer.ts'
export { type Meaning, pointersOfMapping } from './events/mapping.ts'
export type { Cause, CauseName, PossibleCause, PrepareExplanation } from './explanation.ts'
export type { Provider } from './provider.ts'
export { PAYPAL_MAX_AGE_SECONDS } from './schemes/paypal/paypal-certificates.ts'
export {
  type CheckSignature,
  type Confirmed,
  type HandshakeAnswer,
  type ProviderSettings,
  type ReadKey,
  type Scheme,
  UNSIGNED,
} from './schemes/scheme.ts'
export { SCHEMES } from './schemes/schemes.ts'
export { MAX_RECORD_BYTES } from './settings/common-settings.ts'
export { alternativesSchema, pointerSchema } from './settings/conditions-schema.ts'
export { providersSchema } from './settings/providers-schema.ts'
export { secretTextProblem } from './settings/secret-text-problem.ts'
export type { SettingsProblem, SettingsResult, SettingsSchema } from './settings/settings-schema.ts'
export { KEY_ASKED_IN_VAIN } from './signatures/certificate-finder.ts'
export type { ProviderSource } from './signatures/read-secrets.ts'
export type { LiveSecret } from './signatures/signature.ts'
export { signWithToken } from './signatures/static-token.ts'
