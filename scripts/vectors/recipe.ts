import { createHmac } from 'node:crypto'
import { BODY, type HeaderLine, NOW, type Vector } from './vector.ts'

/**
 * How a provider signs with an HMAC, written down apart from the verifiers: its vectors are made of it. Every negative
 * class follows from these members.
 */
export interface Recipe {
  readonly scheme: string
  readonly settings?: Readonly<Record<string, unknown>>
  readonly secret: string
  /** The header of the signature, as the provider writes it. */
  readonly header: string
  readonly encoding: 'hex' | 'base64'
  /** What stands before the signature in its header. */
  readonly prefix?: string
  readonly prefixOptional?: true
  /** The header of the time, where the time is signed and has its own. */
  readonly timeHeader?: string
  /** The header of the signature is a list that also holds the time. */
  readonly list?: { readonly separator: string; readonly time: string; readonly signature: string }
  /** Times in milliseconds count beside those in seconds. */
  readonly millisecondsToo?: true
  /** What is signed. */
  readonly text: (body: Buffer, time: string) => readonly (string | Buffer)[]
  /** The signature of the common body at the common time, made elsewhere. */
  readonly independent: string
  /** What only this provider has. */
  readonly own?: (recipe: Recipe) => readonly Vector[]
}

/** What a delivery has otherwise than the usual one. */
export interface Otherwise {
  readonly body?: Buffer
  readonly time?: string
  readonly secret?: string
  readonly algorithm?: string
  /** Signed in place of the recipe's text. */
  readonly text?: readonly (string | Buffer)[]
}

/** Whether a provider signs a time. */
export function isTimed({ timeHeader, list }: Recipe): boolean {
  return timeHeader !== undefined || list !== undefined
}

/** The bytes of a signature. */
export function macOf(recipe: Recipe, otherwise: Otherwise = {}): Buffer {
  const { body = BODY, time = String(NOW), secret = recipe.secret, algorithm = 'sha256' } = otherwise
  const mac = createHmac(algorithm, secret)
  for (const part of otherwise.text ?? recipe.text(body, time)) mac.update(part)
  return mac.digest()
}

/** A signature as it is written. */
export function signatureOf(recipe: Recipe, otherwise: Otherwise = {}): string {
  return macOf(recipe, otherwise).toString(recipe.encoding)
}

/** The header lines around a signature that is already written. */
export function linesAround(recipe: Recipe, signature: string, time = String(NOW)): HeaderLine[] {
  const { header, prefix = '', timeHeader, list } = recipe
  if (list !== undefined) {
    return [[header, `${list.time}=${time}${list.separator}${list.signature}=${signature}`]]
  }
  return [[header, `${prefix}${signature}`], ...(timeHeader === undefined ? [] : [[timeHeader, time] as const])]
}

/** The header lines of a delivery. */
export function signedLines(recipe: Recipe, otherwise: Otherwise = {}): HeaderLine[] {
  return linesAround(recipe, signatureOf(recipe, otherwise), otherwise.time)
}

/** A vector of a recipe: the common delivery but for what is given. */
export interface Delivered {
  readonly headers?: readonly HeaderLine[]
  readonly body?: Buffer
  readonly now?: number
  readonly notAfter?: string
  readonly secret?: string
  readonly settings?: Readonly<Record<string, unknown>>
}

function write(recipe: Recipe, why: string, delivered: Delivered): Omit<Vector, 'verdict'> {
  const settings = delivered.settings ?? recipe.settings
  return {
    why,
    ...(settings === undefined ? {} : { settings }),
    secret: delivered.secret ?? recipe.secret,
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

/** A delivery that is not. */
export function refused(recipe: Recipe, why: string, delivered: Delivered): Vector {
  const { why: reason, ...rest } = write(recipe, why, delivered)
  return { why: reason, verdict: 'refused', ...rest }
}
