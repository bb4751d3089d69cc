import { createHmac } from 'node:crypto'
import { plainTypes, writePlainEvent } from '../payment-event.ts'
import { readBase64Secret, readHexSecret } from '../secret-bytes.ts'
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
const secretEncodings = ['utf8', 'hex', 'base64'] as const

/**
 * The generic scheme: one configurable HMAC in one header. `header` is required. Defaults: `algorithm` sha256, `encoding` hex,
 * `prefix` empty, `secretEncoding` utf8, `signedText` `{timestamp}.{body}` with a `timestampHeader`, else `{body}`.
 */
export const hmac: Signer = {
  types: plainTypes,
  settings: ['header', 'algorithm', 'encoding', 'prefix', 'timestampHeader', 'signedText', 'secretEncoding'],
  writeEvent: writePlainEvent,
  sign: signHmac,
}

function signHmac({ body, secret, now, settings }: SigningRequest): HeaderLine[] {
  const header = readTextSetting(settings, 'header')
  if (!header) throw new SigningError('The setting header is missing: the name of the signature header')
  const timestampHeader = readTextSetting(settings, 'timestampHeader')
  const signedText = readSignedText(settings, timestampHeader)
  const timestamp = toSeconds(now)
  const mac = createHmac(readChoice(settings, 'algorithm', algorithms) ?? 'sha256', readKey(secret, settings))
  for (const part of splitTemplate(signedText)) {
    mac.update(part === '{body}' ? body : part === '{timestamp}' ? timestamp : part)
  }
  const signature = mac.digest(readChoice(settings, 'encoding', encodings) ?? 'hex')
  const prefix = readTextSetting(settings, 'prefix') ?? ''
  const line: HeaderLine = [header, `${prefix}${signature}`]
  return timestampHeader ? [line, [timestampHeader, timestamp]] : [line]
}

function readSignedText(settings: SigningSettings | undefined, timestampHeader: string | undefined): string {
  const signedText = readTextSetting(settings, 'signedText') ?? (timestampHeader ? '{timestamp}.{body}' : '{body}')
  if (signedText.includes('{timestamp}') && !timestampHeader) {
    throw new SigningError('The setting timestampHeader is missing: signedText contains {timestamp}')
  }
  return signedText
}

function splitTemplate(template: string): string[] {
  return template.split(/(\{body\}|\{timestamp\})/)
}

function readKey(secret: string, settings: SigningSettings | undefined): Buffer {
  const encoding = readChoice(settings, 'secretEncoding', secretEncodings) ?? 'utf8'
  if (encoding === 'hex') return readHexSecret(secret)
  if (encoding === 'base64') return readBase64Secret(secret)
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
