import { createSecretKey, type KeyObject } from 'node:crypto'
import { endedSecret } from '@oncehook/gateway/webhooks/providers/explain-refusal'
import type { Cause, LiveSecret, PossibleCause, ReadKey, Scheme } from '@oncehook/webhooks/providers'
import type { KnownProvider } from '../../verify/known-providers.ts'
import type { Variation } from '../attempt.ts'

/** A configured secret with its parsed key, or the problem with it. */
export interface TriedSecret {
  readonly id: string
  readonly text: string
  readonly notAfter: number | null
  readonly read: ReadKey
}

/** The secrets of a provider, valid or not. */
export function readTriedSecrets({ settings, secretTexts }: KnownProvider, scheme: Scheme): TriedSecret[] {
  return settings.secrets.map(({ id, notAfter }, index) => {
    const text = secretTexts[index] ?? ''
    const end = notAfter === undefined ? null : Date.parse(notAfter)
    return { id, text, notAfter: end, read: scheme.readKey(text, settings) }
  })
}

/** The valid secrets, prepared for the scheme. */
export function toLiveSecrets(secrets: readonly TriedSecret[]): LiveSecret[] {
  return secrets.flatMap(({ id, notAfter, read }) => toLiveSecret({ id, notAfter }, read))
}

function toLiveSecret(named: Pick<LiveSecret, 'id' | 'notAfter'>, read: ReadKey): LiveSecret[] {
  if (Buffer.isBuffer(read)) return read.length === 0 ? [] : [{ ...named, key: createSecretKey(read) }]
  return 'problem' in read ? [] : [{ ...named, ...read }]
}

/** Problems with secrets that the scheme cannot parse. */
export function findUnreadable(secrets: readonly TriedSecret[]): Cause[] {
  return secrets.flatMap(({ id, read }): Cause[] =>
    Buffer.isBuffer(read) || !('problem' in read)
      ? []
      : [
          {
            cause: 'secret_unreadable',
            proved: false,
            message: `The secret ${id} is not valid for this scheme: it ${read.problem}`,
            fix: 'Copy it from the provider again, including its prefix',
          },
        ],
  )
}

/** Possible mistakes in the secrets, each corrected. */
export function secretVariations(provider: KnownProvider, scheme: Scheme): Variation[] {
  return readTriedSecrets(provider, scheme).flatMap((secret) => [
    ...endedVariation(secret),
    ...[...otherTexts(secret.text), ...otherKeys(secret, scheme)].flatMap((other): Variation[] => {
      const read = 'text' in other ? scheme.readKey(other.text, provider.settings) : withKind(secret.read, other.key)
      const secrets = toLiveSecret({ id: secret.id, notAfter: null }, read)
      if (secrets[0] === undefined || isSameKey(secrets[0], secret.read)) return []
      return [
        {
          cause: other.cause,
          message: `The secret ${secret.id} ${other.message}`,
          fix: other.fix,
          apply: (attempt) => ({ ...attempt, secrets }),
        },
      ]
    }),
  ])
}

function endedVariation({ id, notAfter, read }: TriedSecret): Variation[] {
  const secrets = toLiveSecret({ id, notAfter: null }, read)
  if (notAfter === null || secrets.length === 0) return []
  return [{ ...endedSecret(id), apply: (attempt) => ({ ...attempt, secrets }) }]
}

const asShown = 'Copy exactly the text that the provider shows'

/** The secret as it may have been before it was copied. */
function otherTexts(text: string): (PossibleCause & { readonly text: string })[] {
  const blank = { cause: 'secret_blank', fix: asShown } as const
  const encoding = { cause: 'secret_encoding', fix: asShown } as const
  const bare = text.trim().replace(/^(["'`])(.*)\1$/s, '$2')
  const last = bare.replace(/(?:\\r)?\\n$/, '')
  const others = [
    { ...blank, message: 'has whitespace around it', text: text.trim() },
    { ...blank, message: 'has quotes around it', text: bare },
    { ...blank, message: 'ends in a literal \\n', text: last },
    { ...blank, message: 'starts with a variable name', text: last.replace(/^(?:export )?[A-Z_0-9]+=/, '') },
    { ...encoding, message: 'lacks its prefix whsec_', text: `whsec_${last}` },
    { ...encoding, message: 'has an extra prefix', text: last.replace(/^[a-z]{2,8}_/, '') },
    { ...encoding, message: 'is in base64, but the scheme expects hexadecimal', text: recode(last, 'base64', 'hex') },
    { ...encoding, message: 'is in hexadecimal, but the scheme expects base64', text: recode(last, 'hex', 'base64') },
  ]
  return others.filter((other) => other.text !== text && other.text !== '')
}

function recode(text: string, from: 'base64' | 'hex', to: 'base64' | 'hex'): string {
  return Buffer.from(text, from).toString(to)
}

/** The same text, decoded differently. */
function otherKeys({ text, read }: TriedSecret, scheme: Scheme): (PossibleCause & { readonly key: KeyObject })[] {
  // A key pair, or a text that is not a key, cannot be replaced with bytes.
  if (scheme.fetchesKeys !== undefined || (!Buffer.isBuffer(read) && 'key' in read && read.key.type !== 'secret'))
    return []
  const bare = text.trim().replace(/^[a-z]{2,8}_/, '')
  const fix = 'Set the encoding that the provider uses: the scheme decodes the secret differently'
  const readings = [
    { message: 'is plain text', bytes: Buffer.from(text.trim()) },
    { message: 'is base64', bytes: Buffer.from(bare, 'base64') },
    { message: 'is hexadecimal', bytes: Buffer.from(bare, 'hex') },
  ]
  return readings
    .filter(({ bytes }) => bytes.length > 0)
    .map(({ message, bytes }) => ({ cause: 'secret_encoding', message, fix, key: createSecretKey(bytes) }))
}

/** Some schemes have several kinds of secrets. A guess keeps the configured kind. */
function withKind(read: ReadKey, key: KeyObject): ReadKey {
  return !Buffer.isBuffer(read) && 'key' in read && read.kind !== undefined ? { key, kind: read.kind } : { key }
}

function isSameKey({ key }: LiveSecret, read: ReadKey): boolean {
  if (Buffer.isBuffer(read)) return read.length > 0 && key.equals(createSecretKey(read))
  return 'key' in read && key.type === read.key.type && key.equals(read.key)
}
