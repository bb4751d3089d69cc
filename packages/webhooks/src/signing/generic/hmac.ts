import { createHmac } from 'node:crypto'
import { plainTypes, writePlainEvent } from '../payment-event.ts'
import { readAnyBase64Secret, readHexSecret } from '../secret-bytes.ts'
import {
  type HeaderLine,
  readTextSetting,
  type Signer,
  SigningError,
  type SigningRequest,
  type SigningSettings,
  toSeconds,
} from '../signer.ts'

const algorithms = ['sha1', 'sha256', 'sha384', 'sha512'] as const
const encodings = ['hex', 'base64'] as const
const separators = [',', ';', ' '] as const
const secretEncodings = ['utf8', 'hex', 'base64'] as const

/**
 * The generic scheme: one configurable HMAC in one header. `header` is required. Defaults: `algorithm` sha256, `encoding` hex,
 * `prefix` empty, `secretEncoding` utf8, `signedText` `{timestamp}.{body}` with a time, else `{body}`. The time is in a
 * `timestampHeader`, or in the same header before the signature: after `timestampPrefix`, and then `separator`. It is in
 * seconds. A `{query}` is empty, because none is sent.
 */
export const hmac: Signer = {
  types: plainTypes,
  settings: [
    ...['header', 'algorithm', 'encoding', 'prefix', 'separator', 'timestampPrefix', 'timestampHeader', 'signedText'],
    ...['idHeader', 'publicUrl', 'secretEncoding'],
  ],
  writeEvent: writePlainEvent,
  sign: signHmac,
}

function signHmac({ body, secret, now, settings, eventId: id = 'simulated' }: SigningRequest): HeaderLine[] {
  const header = readTextSetting(settings, 'header')
  if (!header) throw new SigningError('The setting header is missing: the name of the signature header')
  const timestampHeader = readTextSetting(settings, 'timestampHeader')
  const item = readTimeItem(settings)
  const timestamp = toSeconds(now)
  const mac = createHmac(readChoice(settings, 'algorithm', algorithms) ?? 'sha256', readKey(secret, settings))
  const template = readSignedText(settings, timestampHeader !== undefined || item !== null)
  const values = { body, timestamp, id, query: '', url: readTextSetting(settings, 'publicUrl') }
  for (const part of partsOf(template, values)) mac.update(part)
  const signature = mac.digest(readChoice(settings, 'encoding', encodings) ?? 'hex')
  const time = item === null ? '' : `${item.prefix}${timestamp}${item.separator}`
  const named = [
    [timestampHeader, timestamp],
    [readTextSetting(settings, 'idHeader'), id],
  ].filter((line): line is [string, string] => line[0] !== undefined)
  return [[header, `${time}${readTextSetting(settings, 'prefix') ?? ''}${signature}`], ...named]
}

/** How the time stands in the header of the signature; null if it does not. */
function readTimeItem(settings: SigningSettings | undefined): { prefix: string; separator: string } | null {
  const prefix = readTextSetting(settings, 'timestampPrefix')
  if (prefix === undefined) return null
  const separator = readChoice(settings, 'separator', separators)
  if (separator === undefined) throw new SigningError('The setting separator is missing: timestampPrefix needs a list')
  return { prefix, separator }
}

function readSignedText(settings: SigningSettings | undefined, hasTime: boolean): string {
  const signedText = readTextSetting(settings, 'signedText') ?? (hasTime ? '{timestamp}.{body}' : '{body}')
  if (signedText.includes('{timestamp}') && !hasTime) {
    throw new SigningError('The setting timestampHeader is missing: signedText contains {timestamp}')
  }
  return signedText
}

function partsOf(
  template: string,
  values: Readonly<Record<string, string | Uint8Array | undefined>>,
): (string | Uint8Array)[] {
  return template.split(/(\{(?:body|timestamp|url|query|id)\})/).map((part) => {
    if (!part.startsWith('{')) return part
    const value = values[part.slice(1, -1)]
    if (value === undefined) throw new SigningError('The setting publicUrl is missing: signedText contains {url}')
    return value
  })
}

function readKey(secret: string, settings: SigningSettings | undefined): Buffer {
  const encoding = readChoice(settings, 'secretEncoding', secretEncodings) ?? 'utf8'
  if (encoding === 'hex') return readHexSecret(secret)
  if (encoding === 'base64') return readAnyBase64Secret(secret)
  return Buffer.from(secret)
}

function readChoice<T extends string>(
  settings: SigningSettings | undefined,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = readTextSetting(settings, name)
  if (value === undefined) return undefined
  const choice = choices.find((candidate) => candidate === value)
  if (choice === undefined) throw new SigningError(`The setting ${name} must be one of ${choices.join(', ')}`)
  return choice
}
