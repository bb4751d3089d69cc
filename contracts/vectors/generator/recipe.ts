import { createHmac } from 'node:crypto'
import { BODY, type HeaderLine, NOW, type Vector } from './vector.ts'

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
  /** The text before the signature in its header. */
  readonly prefix?: string
  readonly prefixOptional?: true
  /** The header of the time, if the time is signed and has its own header. */
  readonly timeHeader?: string
  /** The header of the signature is a list that also contains the time. */
  readonly list?: { readonly separator: string; readonly time: string; readonly signature: string }
  /** The header of the signature is a list, separated by spaces. */
  readonly blankSeparated?: true
  /** Times in milliseconds are valid as well as times in seconds. */
  readonly millisecondsToo?: true
  /** Other header lines of every delivery, signed or required. */
  readonly lines?: readonly HeaderLine[]
  /** The query of the request's target. */
  readonly query?: string
  /** The usual body. Default: the common one. */
  readonly body?: Buffer
  /** The bytes of the body are not what is signed, so the provider has its own cases for the body. */
  readonly ownBody?: true
  /** Bodies to choose from, if not every body can be signed. */
  readonly bodyAt?: (at: number) => Buffer
  /** The hash of the HMAC. Default: sha256. */
  readonly algorithm?: string
  /** Returns the key for a secret. Default: its text. */
  readonly keyOf?: (secret: string) => Buffer
  /** Signs a text instead of the HMAC. `another` is a wrong secret to sign with. */
  readonly signer?: { readonly sign: (text: Buffer, secret: string) => Buffer; readonly another: string }
  /** Returns the header lines of a delivery, if a signature alone does not determine them. */
  readonly write?: (otherwise: Otherwise) => readonly HeaderLine[]
  /** What is signed. */
  readonly text: (body: Buffer, time: string) => readonly (string | Buffer)[]
  /** The signature of the common body at the common time, made elsewhere; null if every signature differs. */
  readonly independent: string | null
  /** The cases that only this provider has. */
  readonly own?: (recipe: Recipe) => readonly Vector[]
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
  const { body = recipe.body ?? BODY, time = String(NOW), secret = recipe.secret } = otherwise
  const { algorithm = recipe.algorithm ?? 'sha256' } = otherwise
  const { keyOf = (text: string) => Buffer.from(text), signer } = recipe
  const text = Buffer.concat((otherwise.text ?? recipe.text(body, time)).map((part) => Buffer.from(part)))
  if (signer !== undefined && otherwise.algorithm === undefined) return signer.sign(text, secret)
  return createHmac(algorithm, otherwise.key ?? keyOf(secret))
    .update(text)
    .digest()
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
  if (recipe.write !== undefined) return [...recipe.write(otherwise)]
  return linesAround(recipe, signatureOf(recipe, otherwise), otherwise.time)
}

/** A vector of a recipe: the common delivery, except for these properties. */
export interface Delivered {
  readonly headers?: readonly HeaderLine[]
  readonly body?: Buffer
  readonly now?: number
  readonly notAfter?: string
  readonly secret?: string
  readonly settings?: Readonly<Record<string, unknown>>
  readonly query?: string
}

function write(recipe: Recipe, why: string, delivered: Delivered): Omit<Vector, 'verdict'> {
  const settings = delivered.settings ?? recipe.settings
  const query = delivered.query ?? recipe.query
  return {
    why: `${why}${recipe.mark ?? ''}`,
    ...(settings === undefined ? {} : { settings }),
    secret: delivered.secret ?? recipe.secret,
    ...(delivered.notAfter === undefined ? {} : { notAfter: delivered.notAfter }),
    now: delivered.now ?? NOW,
    headers: delivered.headers ?? signedLines(recipe),
    ...(query === undefined ? {} : { query }),
    body: (delivered.body ?? recipe.body ?? BODY).toString('base64'),
  }
}

/** A delivery that is authentic. */
export function accepted(recipe: Recipe, why: string, delivered: Delivered = {}): Vector {
  const { why: reason, ...rest } = write(recipe, why, delivered)
  return { why: reason, verdict: 'accepted', ...rest }
}

/** A delivery that is not. */
export function refused(recipe: Recipe, why: string, delivered: Delivered): Vector {
  const { why: reason, ...rest } = write(recipe, why, delivered)
  return { why: reason, verdict: 'refused', ...rest }
}
