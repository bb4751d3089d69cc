import type { Meaning } from '../events/mapping.ts'
import type { OtherDecimals } from '../events/money.ts'
import type { SchemePermits } from '../events/permits.ts'
import type { Redelivery } from '../schemes/redelivery.ts'
import type { CommonSettings } from '../settings/common-settings.ts'

/**
 * A provider as data: its verifier and its signer both come from this, and the vectors, which are made without it, judge both.
 * A provider that needs code beside the data has its own file among the schemes.
 */
export interface Preset {
  readonly name: string
  readonly signature: MacSignature | StandardSignature
  /** Headers of every delivery that are not signed, but that an operator may want to see. The signer puts the id there. */
  readonly unsignedHeaders?: readonly string[]
  /** A body is a list of events, at most so many. The places are those of one of them. */
  readonly list?: { readonly most: number }
  readonly read: Places
  /** The provider's types that have an effect, with the status behind a full stop if it decides. */
  readonly types: Readonly<Record<string, Meaning>>
  /** Default: seven days, because nothing is documented. */
  readonly redelivery?: Redelivery
  /** Default: those of a payment provider that always names an amount. */
  readonly permits?: SchemePermits<CommonSettings>
  /** How the signer sends a payment. Default: by the first type that is a success, and the first that is a failure. */
  readonly sent?: SentTypes
}

/** An HMAC in a header, in the words of the settings of the generic scheme (`hmac`). */
export interface MacSignature {
  /** As the provider writes it. */
  readonly header: string
  readonly algorithm?: 'sha256' | 'sha512'
  readonly encoding?: 'hex' | 'base64'
  readonly prefix?: string
  readonly separator?: ',' | ';'
  readonly timestampPrefix?: string
  readonly timestampHeader?: string
  readonly signedText?: string
  /** Default: seconds. */
  readonly timestampIn?: 'milliseconds'
  /** Default: the text of the secret is the key. */
  readonly secretEncoding?: 'hex'
  /**
   * The provider writes the signature in a form that varies, or beyond the usual ones: the generic scheme checks it, and takes
   * every form that cannot be mistaken. Otherwise only the usual form counts.
   */
  readonly checkedAs?: 'hmac'
}

export interface StandardSignature {
  readonly checkedAs: 'standard-webhooks'
  /** The begin of the names of the headers that the provider sends. Both are accepted. */
  readonly headerPrefix: 'webhook-' | 'svix-'
  /** The text of the secret is the key. Default: base64 behind `whsec_`. */
  readonly secretIsText?: true
}

/** Where the values of an event are in a body, as JSON Pointers (RFC 6901); of several, the first that is found counts. */
export interface Places {
  /** Default: the id that is signed in a header, or the hash of the body. */
  readonly id?: Place
  /** The values that together are the id, if the provider names none and counts the attempts in the body. */
  readonly idOf?: readonly string[]
  readonly type: Place
  /** A status that decides what the type means. */
  readonly status?: Place
  readonly object: Place
  /** Default: the id of the object. */
  readonly order?: Place
  readonly amount?: Place
  /** Default: minor. */
  readonly amountIn?: 'minor' | 'decimal'
  /** Where the minor units differ from ISO 4217. */
  readonly decimals?: OtherDecimals
  readonly currency?: Place
  readonly time?: Place
}

export type Place = string | readonly string[]

/** The types that stand for the two kinds of a payment. */
interface SentTypes {
  readonly succeeded?: string
  readonly failed?: string
  /** Where the order is, if the provider has none: settings must say so too. */
  readonly order?: string
}

/** The order in the fields that a provider reserves for shops (metadata, custom data, notes). */
export function orderIn(...places: readonly string[]): readonly string[] {
  return places.flatMap((place) => [`${place}/order_id`, `${place}/orderId`])
}
