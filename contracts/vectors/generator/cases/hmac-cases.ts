import { createHmac } from 'node:crypto'
import { KEY } from '../keys.ts'
import { accepted, type Recipe, refused } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'

const TIME = String(NOW)
const TIMED = { header: 'x-signature', timestampHeader: 'x-timestamp' }
const HEX_KEY = { header: 'hmacsignature', encoding: 'base64', secretEncoding: 'hex' }

/** One combination of settings of the generic scheme, and a delivery that is signed with them. */
interface Combination {
  readonly why: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly headers: readonly HeaderLine[]
  readonly secret?: string
}

function mac(algorithm: string, ...parts: (string | Buffer)[]): Buffer {
  return macWith('test_secret', algorithm, parts)
}

function macWith(key: string | Buffer, algorithm: string, parts: readonly (string | Buffer)[]): Buffer {
  const text = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return createHmac(algorithm, key).update(text).digest()
}

const COMBINATIONS: readonly Combination[] = [
  {
    why: 'hexadecimal without a prefix',
    settings: { header: 'x-signature' },
    headers: [['x-signature', mac('sha256', BODY).toString('hex')]],
  },
  {
    why: 'SHA-1, as GitHub once signed',
    settings: { header: 'X-Hub-Signature', algorithm: 'sha1', prefix: 'sha1=' },
    headers: [['X-Hub-Signature', 'sha1=e553feb4f874ce518d83a5b4890277f441662b96']],
  },
  ...['sha384', 'sha512'].map((algorithm) => ({
    why: `an HMAC of ${algorithm}`,
    settings: { header: 'x-signature', algorithm },
    headers: [['x-signature', mac(algorithm, BODY).toString('hex')]] as const,
  })),
  {
    why: 'time, full stop and body, where only the header of the time is named',
    settings: TIMED,
    headers: [
      ['x-signature', mac('sha256', `${TIME}.`, BODY).toString('hex')],
      ['x-timestamp', TIME],
    ],
  },
  {
    why: 'the body before the time',
    settings: { ...TIMED, signedText: '{body}|{timestamp}' },
    headers: [
      ['x-signature', mac('sha256', BODY, `|${TIME}`).toString('hex')],
      ['x-timestamp', TIME],
    ],
  },
  {
    why: 'a text of its own before the body',
    settings: { header: 'x-signature', signedText: 'https://example.com/hook{body}' },
    headers: [['x-signature', mac('sha256', 'https://example.com/hook', BODY).toString('hex')]],
  },
  {
    why: 'the key is hexadecimal',
    settings: HEX_KEY,
    secret: KEY.toString('hex'),
    headers: [['HmacSignature', 'PkBqMmqKEfLXaWdRKWHb8q2UYyLfLD6psDHMK8ZuiZ0=']],
  },
  {
    why: 'the key is base64',
    settings: { header: 'x-signature', secretEncoding: 'base64' },
    secret: KEY.toString('base64'),
    headers: [['x-signature', macWith(KEY, 'sha256', [BODY]).toString('hex')]],
  },
]

/** The generic scheme: each of its settings, and signatures that fit another setting. */
export function hmacCases(recipe: Recipe): Vector[] {
  const hex = mac('sha256', BODY).toString('hex')
  return [
    ...COMBINATIONS.map(({ why, ...delivered }) => accepted(recipe, why, delivered)),
    refused(recipe, 'a prefix stands where none is set', {
      settings: { header: 'x-signature' },
      headers: [['x-signature', `sha256=${hex}`]],
    }),
    refused(recipe, 'the signature leaves the time out that is set', {
      settings: TIMED,
      headers: [
        ['x-signature', hex],
        ['x-timestamp', TIME],
      ],
    }),
    refused(recipe, 'signed with the text of a hexadecimal key', {
      settings: HEX_KEY,
      secret: KEY.toString('hex'),
      headers: [['HmacSignature', macWith(KEY.toString('hex'), 'sha256', [BODY]).toString('base64')]],
    }),
    refused(recipe, 'SHA-256 where SHA-512 is set', {
      settings: { header: 'x-signature', algorithm: 'sha512' },
      headers: [['x-signature', hex]],
    }),
    refused(recipe, 'in another header than the one that is set', { headers: [['x-signature', `sha256=${hex}`]] }),
  ]
}
