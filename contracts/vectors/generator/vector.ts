/** A header line as it is sent, one character per byte (ISO 8859-1). */
export type HeaderLine = readonly [name: string, value: string]

/** One delivery and the expected result of its verification, as in a file of `contracts/vectors`. */
export interface Vector {
  readonly why: string
  readonly verdict: 'accepted' | 'refused'
  /** The provider's settings, except the scheme and the secrets. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** As the provider shows it to its customer; empty if it has none. */
  readonly secret: string
  /** When the secret ended, ISO 8601. */
  readonly notAfter?: string
  /** Seconds since 1970 at which the delivery is verified. */
  readonly now: number
  readonly headers: readonly HeaderLine[]
  /** The query of the request's target, without the question mark. */
  readonly query?: string
  /** Base64 of the bytes. */
  readonly body: string
}

/** The moment of most vectors, in seconds since 1970. */
export const NOW = 1_760_000_000

/** The settings of a provider that has to be asked; nobody answers there. */
export const API = { fetch: { baseUrl: 'http://127.0.0.1:9', token: 'a_token_of_the_api' } } as const

/** The body of most vectors; two of its characters are not ASCII. */
export const BODY = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)
