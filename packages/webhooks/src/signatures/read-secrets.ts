import { createSecretKey } from 'node:crypto'
import type { ProviderSettings, ReadKey, Scheme } from '../schemes/scheme.ts'
import type { LiveSecret } from './signature.ts'

/** The settings of a provider, with the values of its secrets. */
export interface ProviderSource {
  readonly name: string
  readonly settings: ProviderSettings
  readonly secretTexts: readonly string[]
  readonly maxBytes: number
  /** How many levels a body may have. Default: as many as the body of a delivery. */
  readonly maxDepth?: number
}

const MIN_KEY_BYTES = 16

/** Reads the secrets of a provider, or lists what is wrong with them. No problem quotes a secret. */
export function readSecrets(scheme: Scheme, source: ProviderSource): { secrets: LiveSecret[]; problems: string[] } {
  const secrets: LiveSecret[] = []
  const problems: string[] = []
  source.settings.secrets.forEach((secret, index) => {
    const read = scheme.readKey(source.secretTexts[index] ?? '', source.settings)
    const problem = problemOf(read, source.settings)
    if (problem !== null) problems.push(`secret ${secret.id} ${problem}`)
    else if (!('problem' in read)) {
      const notAfter = secret.notAfter === undefined ? null : Date.parse(secret.notAfter)
      secrets.push({ id: secret.id, notAfter, ...toKey(read, scheme) })
    }
  })
  return { secrets, problems }
}

function toKey(read: Exclude<ReadKey, { readonly problem: string }>, { secretIsPublic }: Scheme) {
  const key = Buffer.isBuffer(read) ? { key: createSecretKey(read) } : read
  return secretIsPublic === true || key.key.type === 'public' ? { ...key, isPublic: true as const } : key
}

function problemOf(read: ReadKey, { acceptShortSecret }: ProviderSettings): string | null {
  if (!Buffer.isBuffer(read)) return 'problem' in read ? read.problem : null
  if (read.length >= MIN_KEY_BYTES || (acceptShortSecret === true && read.length > 0)) return null
  return `is shorter than ${MIN_KEY_BYTES} bytes`
}
