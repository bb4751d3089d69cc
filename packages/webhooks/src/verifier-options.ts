import type { PaymentEventType } from './event.ts'
import type { Conditions } from './events/conditions.ts'
import type { Mapping, Meaning } from './events/mapping.ts'

/** A secret and its expiry. */
export interface VerifierSecret {
  /** Identifies the secret in results. Default: its position, `1`, `2` or `3`. */
  readonly id?: string
  readonly value: string
  /** The secret is no longer accepted from this time. Default: it does not expire. */
  readonly notAfter?: Date
}

/** The API of a provider, for reading its objects. */
export interface ProviderApiOptions {
  /** An https URL. Plain http is allowed for loopback only. */
  readonly baseUrl: string
  readonly token: string
}

/** The options of every scheme. */
export interface CommonOptions {
  /** How far a signed time may differ from now, in seconds, 1 to 86,400. Default: 300. */
  readonly toleranceSeconds?: number
  /** Accept secrets of less than 16 bytes. Default: false. */
  readonly acceptShortSecret?: boolean
  /** More types of the provider, and the type that events get instead. */
  readonly events?: Readonly<Record<string, Meaning>>
  /** Where the values of an event are in the body. Default: where the provider has them. */
  readonly read?: Mapping
  /** A body as the provider sends it, as JSON or its text. A verifier whose options do not fit it is not made. Default: none. */
  readonly sample?: string | object
  /** The payment events that the provider may cause; others are marked as withheld. Default: depends on the scheme. */
  readonly effects?: readonly PaymentEventType[]
  /** Mark a success without amount and currency as unreadable. Default: depends on the scheme. */
  readonly requireAmount?: boolean
  /** Conditions that events must meet; other events are marked as withheld. Default: depends on the scheme. */
  readonly expect?: Conditions
}

/** Up to three secrets, so that an old and a new secret can be valid at the same time. */
interface WithSecrets {
  readonly secrets: string | readonly (string | VerifierSecret)[]
}

/** The provider signs nothing, so there is no secret. */
interface WithoutSecrets {
  readonly secrets?: undefined
}

/** The scheme is not tied to a provider, so `effects` is required; `[]` for none. */
interface WithEffects extends WithSecrets {
  readonly effects: readonly PaymentEventType[]
}

/** The webhook URL as configured at the provider. It is part of the signed text. */
interface WithPublicUrl extends WithSecrets {
  readonly publicUrl: string
}

/** The provider signs too little, so each event is confirmed with its API. */
interface WithFetch extends WithSecrets {
  readonly fetch: ProviderApiOptions
}

interface GenericHmac extends WithEffects {
  /** The name of the signature header. */
  readonly header: string
  /** Default: `sha256`. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** `hex` reads both cases, `base64` both alphabets, with and without padding. Default: `hex`. */
  readonly encoding?: 'hex' | 'base64'
  /** The text before the signature. Default: none. */
  readonly prefix?: string
  /** The header is a list: up to eight of its items that begin with `prefix` are signatures. Default: it is one signature. */
  readonly separator?: ',' | ';' | ' '
  /** The text before the signed time in the list; `''` if the time is the first item. Default: the list has no time. */
  readonly timestampPrefix?: string
  /** The name of the header with the signed time. Default: no time is signed. */
  readonly timestampHeader?: string
  /** The name of the header with the id of the event, which `signedText` contains. Default: no id is signed. */
  readonly idHeader?: string
  /**
   * The signed text, with `{body}`, `{timestamp}`, `{id}`, `{url}` (`publicUrl`) and `{query}` (as received, with its question mark).
   * Default: `{timestamp}.{body}` if there is a time, otherwise `{body}`.
   */
  readonly signedText?: string
  /** The webhook URL as configured at the provider, for `{url}`. */
  readonly publicUrl?: string
  /** The encoding of the secret. Default: `utf8`. */
  readonly secretEncoding?: 'utf8' | 'hex' | 'base64'
}

interface Paypal extends WithSecrets {
  /** The only trusted certificates (PEM). Default: PayPal's own, fetched and checked. */
  readonly certificates?: readonly string[]
  /** Confirm each event with PayPal. The token is `<client id>:<client secret>`. Default: events are not confirmed. */
  readonly fetch?: ProviderApiOptions
  /** Also trust the sandbox hosts. Default: false. */
  readonly sandbox?: boolean
}

/** The secret is the client id, a colon and the secret of the account. */
interface Plaid extends WithSecrets {
  /** The only trusted keys, as Plaid answers them (JWK). Default: those of Plaid, fetched. */
  readonly keys?: readonly (Readonly<Record<string, unknown>> & {
    readonly kid: string
    readonly x: string
    readonly y: string
  })[]
  /** The keys are those of the sandbox. Default: false. */
  readonly sandbox?: boolean
}

/** The secret is the ARN of the topic. */
interface Sns extends WithSecrets {
  /** The only trusted certificates (PEM). Default: those of SNS, fetched. */
  readonly certificates?: readonly string[]
}

/** The secret is the id of the bundle. */
interface AppStore extends WithSecrets {
  /** The only trusted root certificates (PEM). Default: Apple's. */
  readonly certificates?: readonly string[]
  /** Events of the sandbox count instead of those of production. Default: false. */
  readonly sandbox?: boolean
}

/** The schemes whose only own option is the secret. */
type PlainScheme =
  | 'adyen'
  | 'adyen-platform'
  | 'authorizenet'
  | 'braintree'
  | 'calendly'
  | 'cashfree'
  | 'checkout'
  | 'clerk'
  | 'coinbase-commerce'
  | 'creem'
  | 'discord'
  | 'docusign'
  | 'dodo'
  | 'fusionauth'
  | 'github'
  | 'gocardless'
  | 'lemonsqueezy'
  | 'modern-treasury'
  | 'mollie'
  | 'paddle'
  | 'paystack'
  | 'polar'
  | 'razorpay'
  | 'resend'
  | 'revenuecat'
  | 'revolut'
  | 'sendgrid'
  | 'shopify'
  | 'slack'
  | 'wise'
  | 'woocommerce'
  | 'workos'
  | 'x'
  | 'zoom'

/** The options of each scheme, in addition to the common ones. */
export interface SchemeOptions extends Readonly<Record<PlainScheme, WithSecrets>> {
  readonly 'app-store': AppStore
  readonly flutterwave: WithFetch
  /** `fetch` is required if the secret is a plaintext token, not a signing token (`whsec_`). */
  readonly gitlab: WithSecrets & Partial<Pick<WithFetch, 'fetch'>>
  readonly hmac: GenericHmac
  /** Accepts both versions unless `version` is set. */
  readonly hook0: WithEffects & { readonly version?: 'v0' | 'v1' }
  readonly hubspot: WithPublicUrl
  readonly mercadopago: WithFetch
  /** `verifyToken` is the text that you type beside the URL: with it, the check of the URL is answered. */
  readonly meta: WithSecrets & { readonly verifyToken?: string }
  readonly 'mollie-classic': WithoutSecrets & Pick<WithFetch, 'fetch'>
  readonly paypal: Paypal
  readonly plaid: Plaid
  readonly sns: Sns
  readonly square: WithPublicUrl
  /** `shape: 'standard'` reads the body as the specification defines it, instead of `{id, type, data: {object: {id}}}`. */
  readonly 'standard-webhooks': WithEffects & { readonly shape?: 'standard' }
  /** Live events count; with `testMode`, test events count instead. */
  readonly stripe: WithSecrets & { readonly testMode?: boolean }
  readonly twilio: WithPublicUrl
}

/** The names of the schemes. */
export type SchemeName = keyof SchemeOptions

/** The options of one scheme. */
export type OptionsOf<Name extends SchemeName> = { readonly scheme: Name } & CommonOptions & SchemeOptions[Name]

/** The options of a verifier. The scheme decides which other options there are. */
export type VerifierOptions = { [Name in SchemeName]: OptionsOf<Name> }[SchemeName]
