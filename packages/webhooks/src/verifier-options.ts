import type { PaymentEventType } from './event.ts'

/** A secret and until when it counts. */
export interface VerifierSecret {
  /** Names the secret in results. Default: `1`, `2`, `3`, by its place. */
  readonly id?: string
  readonly value: string
  /** From then on it does not count any more. Default: it counts for ever. */
  readonly notAfter?: Date
}

/** Where a provider is asked about its own objects, and with which token. */
export interface ProviderApiOptions {
  /** Https, or plain http to loopback. */
  readonly baseUrl: string
  readonly token: string
}

/** What may be said of every scheme. */
export interface CommonOptions {
  /** How many seconds a signed time may be away, 1 to 86,400. Default: 300. */
  readonly toleranceSeconds?: number
  /** Accept a secret of less than 16 bytes. Default: false. */
  readonly acceptShortSecret?: boolean
  /** Further types of the provider, and the names that events get instead. */
  readonly events?: Readonly<Record<string, string>>
  /** A JSON Pointer (RFC 6901) to the id of the order. Default: where the provider puts it. */
  readonly orderReference?: string
  /** Which types of payment the provider may cause; others are marked as withheld. Default: what the scheme says. */
  readonly effects?: readonly PaymentEventType[]
  /** Whether a success without an amount and a currency is marked as unreadable. Default: what the scheme says. */
  readonly requireAmount?: boolean
  /** JSON Pointers to values that an event must have, else it is marked as withheld. Default: what the scheme says. */
  readonly expect?: Readonly<Record<string, string | number | boolean | null>>
}

/** Up to three secrets, so that an old one can go on counting while a new one is introduced. */
interface WithSecrets {
  readonly secrets: string | readonly (string | VerifierSecret)[]
}

/** The provider signs nothing, so there is no secret. */
interface WithoutSecrets {
  readonly secrets?: undefined
}

/** Anybody may use the scheme for anything: which types of payment it may cause must be said; `[]` for none. */
interface WithEffects extends WithSecrets {
  readonly effects: readonly PaymentEventType[]
}

/** The address as the provider knows it: it is signed. */
interface WithPublicUrl extends WithSecrets {
  readonly publicUrl: string
}

/** The provider signs too little, so that it is asked about each event. */
interface WithFetch extends WithSecrets {
  readonly fetch: ProviderApiOptions
}

interface GenericHmac extends WithEffects {
  /** The header of the signature. */
  readonly header: string
  /** Default: `sha256`. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** Default: `hex`. */
  readonly encoding?: 'hex' | 'base64'
  /** Stands in front of the signature. Default: nothing. */
  readonly prefix?: string
  /** The header of the signed time. Default: no time is signed. */
  readonly timestampHeader?: string
  /** What is signed, with `{body}` and, if there is a time, `{timestamp}`. Default: body, or time, full stop and body. */
  readonly signedText?: string
  /** How the secret is written. Default: `utf8`. */
  readonly secretEncoding?: 'utf8' | 'hex' | 'base64'
}

interface Paypal extends WithSecrets {
  /** Certificates that are trusted, and no others (PEM). Default: PayPal's own, fetched and checked. */
  readonly certificates?: readonly string[]
  /** Ask PayPal about each event; the token is the client id, a colon and the client secret. Default: not asked. */
  readonly fetch?: ProviderApiOptions
  /** Also trust the hosts of the sandbox. Default: false. */
  readonly sandbox?: boolean
}

/** What each scheme demands and allows beside the common options. */
export interface SchemeOptions {
  readonly adyen: WithSecrets
  readonly 'adyen-platform': WithSecrets
  readonly cashfree: WithSecrets
  readonly checkout: WithSecrets
  readonly discord: WithSecrets
  readonly flutterwave: WithFetch
  readonly fusionauth: WithSecrets
  readonly github: WithSecrets
  /** `fetch` is needed if the secret is a plain token; a signing token (`whsec_`) does without. */
  readonly gitlab: WithSecrets & Partial<Pick<WithFetch, 'fetch'>>
  readonly gocardless: WithSecrets
  readonly hmac: GenericHmac
  /** Takes both versions unless one is named. */
  readonly hook0: WithEffects & { readonly version?: 'v0' | 'v1' }
  readonly lemonsqueezy: WithSecrets
  readonly mercadopago: WithFetch
  readonly mollie: WithSecrets
  readonly 'mollie-classic': WithoutSecrets & Pick<WithFetch, 'fetch'>
  readonly paddle: WithSecrets
  readonly paypal: Paypal
  readonly razorpay: WithSecrets
  readonly sendgrid: WithSecrets
  readonly shopify: WithSecrets
  readonly slack: WithSecrets
  readonly square: WithPublicUrl
  /** `shape: 'standard'` reads the shape of that specification in place of `{id, type, data: {object: {id}}}`. */
  readonly 'standard-webhooks': WithEffects & { readonly shape?: 'standard' }
  /** Events of the live mode count; with `testMode` those of the test mode. */
  readonly stripe: WithSecrets & { readonly testMode?: boolean }
  readonly twilio: WithPublicUrl
  readonly woocommerce: WithSecrets
  readonly x: WithSecrets
  readonly zoom: WithSecrets
}

/** The names of the schemes. */
export type SchemeName = keyof SchemeOptions

/** How one scheme is configured. */
export type OptionsOf<Name extends SchemeName> = { readonly scheme: Name } & CommonOptions & SchemeOptions[Name]

/** How a verifier is configured: the name of the scheme decides what else can be said. */
export type VerifierOptions = { [Name in SchemeName]: OptionsOf<Name> }[SchemeName]
