import { createHmac } from 'node:crypto'

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

/** The body of most vectors; two of its characters are not ASCII. */
export const BODY = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)

/**
 * How a provider signs, described independently of the verifiers. Its vectors are generated from this. Every negative
 * class follows from these properties.
 */
export interface Recipe {
  readonly scheme: string
  /** A suffix of each vector's reason, for schemes with several recipes. */
  readonly mark?: string
  readonly settings?: Readonly<Record<string, unknown>>
  readonly secret: string
  /** The header of the signature, as the provider writes it. */
  readonly header: string
  readonly encoding: 'hex' | 'base64'
  /** The hash of the HMAC. Default: SHA-256. */
  readonly algorithm?: 'sha512'
  /** The text before the signature in its header. */
  readonly prefix?: string
  readonly prefixOptional?: true
  /** The header of the time, if the time is signed and has its own header. */
  readonly timeHeader?: string
  /** The header of the signature is a list that also contains the time. */
  readonly list?: { readonly separator: string; readonly time: string; readonly signature: string }
  /** The header of the signature is a list, separated by spaces. */
  readonly blankSeparated?: true
  /** The header of the signature is a list of signatures, separated by commas. */
  readonly commaSeparated?: true
  /** Times in milliseconds are valid as well as times in seconds. */
  readonly millisecondsToo?: true
  /**
   * Whatever cannot be mistaken is valid: digits in upper case, both alphabets of base64, no padding, blanks behind a separator,
   * and times in milliseconds and in ISO 8601.
   */
  readonly lenient?: true
  /** Other header lines of every delivery, signed or required. */
  readonly lines?: readonly HeaderLine[]
  /** Returns the key for a secret. Default: its text. */
  readonly keyOf?: (secret: string) => Buffer
  /** What is signed. */
  readonly text: (body: Buffer, time: string) => readonly (string | Buffer)[]
  /** The signature of the common body at the common time, made elsewhere. */
  readonly independent: string
}

/** How a delivery differs from the usual one. */
export interface Otherwise {
  readonly body?: Buffer
  readonly time?: string
  readonly secret?: string
  /** The hash of an HMAC. */
  readonly algorithm?: string
  /** The key of an HMAC. It overrides the secret. */
  readonly key?: Buffer
  /** Signed instead of the recipe's text. */
  readonly text?: readonly (string | Buffer)[]
}

/** Whether a provider signs a time. */
export function isTimed({ timeHeader, list }: Recipe): boolean {
  return timeHeader !== undefined || list !== undefined
}

/** The bytes of a signature. */
export function macOf(recipe: Recipe, otherwise: Otherwise = {}): Buffer {
  const {
    body = BODY,
    time = String(NOW),
    secret = recipe.secret,
    algorithm = recipe.algorithm ?? 'sha256',
  } = otherwise
  const { keyOf = (text: string) => Buffer.from(text) } = recipe
  return createHmac(algorithm, otherwise.key ?? keyOf(secret))
    .update(joined(otherwise.text ?? recipe.text(body, time)))
    .digest()
}

/** The parts of a text, one after the other. */
export function joined(parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part)))
}

/** A signature as it is written. */
export function signatureOf(recipe: Recipe, otherwise: Otherwise = {}): string {
  return macOf(recipe, otherwise).toString(recipe.encoding)
}

/** The header lines around a signature that is already written. */
export function linesAround(recipe: Recipe, signature: string, time = String(NOW)): HeaderLine[] {
  const { header, prefix = '', timeHeader, list, lines = [] } = recipe
  if (list !== undefined) {
    return [[header, `${list.time}=${time}${list.separator}${list.signature}=${signature}`], ...lines]
  }
  const timeLines: HeaderLine[] = timeHeader === undefined ? [] : [[timeHeader, time]]
  return [[header, `${prefix}${signature}`], ...timeLines, ...lines]
}

/** The header lines of a delivery. */
export function signedLines(recipe: Recipe, otherwise: Otherwise = {}): HeaderLine[] {
  return linesAround(recipe, signatureOf(recipe, otherwise), otherwise.time)
}

/** A vector of a recipe: the common delivery, except for these properties. */
export interface Delivered {
  readonly headers?: readonly HeaderLine[]
  readonly body?: Buffer
  readonly now?: number
  readonly notAfter?: string
  readonly settings?: Readonly<Record<string, unknown>>
}

function write(recipe: Recipe, why: string, delivered: Delivered): Omit<Vector, 'verdict'> {
  const settings = delivered.settings ?? recipe.settings
  return {
    why: `${why}${recipe.mark ?? ''}`,
    ...(settings === undefined ? {} : { settings }),
    secret: recipe.secret,
    ...(delivered.notAfter === undefined ? {} : { notAfter: delivered.notAfter }),
    now: delivered.now ?? NOW,
    headers: delivered.headers ?? signedLines(recipe),
    body: (delivered.body ?? BODY).toString('base64'),
  }
}

/** A delivery that is authentic. */
export function accepted(recipe: Recipe, why: string, delivered: Delivered = {}): Vector {
  const { why: reason, ...rest } = write(recipe, why, delivered)
  return { why: reason, verdict: 'accepted', ...rest }
}

/** A delivery that is authentic for lenient recipes only. */
export function lenient(recipe: Recipe, why: string, delivered: Delivered): Vector {
  return recipe.lenient === true ? accepted(recipe, why, delivered) : refused(recipe, why, delivered)
}

/** A delivery that is not. */
export function refused(recipe: Recipe, why: string, delivered: Delivered): Vector {
  const { why: reason, ...rest } = write(recipe, why, delivered)
  return { why: reason, verdict: 'refused', ...rest }
}
