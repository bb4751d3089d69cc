// Which secrets the settings of a service hold, and where. A secret in two places is exposed by a leak of either, and who knows it for one
// purpose can use it for the other: a handler with the secret of a provider can forge its payments. So every parser that takes a text for a
// secret registers it here, with its place in the settings, and no list of secret settings has to be kept. A register belongs to an
// environment, because that is what all parsers of a service have in common. It keeps digests, no secrets.
import { hash } from 'node:crypto'
import type { Logger } from '../log/logger.ts'
import { nameAsSet } from '../settings/name-as-set.ts'
import { isWeakSecret } from './secret.ts'

interface ReadSecret {
  /** Where it is: `PROVIDERS.shop.secrets.1`. */
  readonly place: string
  readonly text: string
  /** Whether somebody sends it as a token, so that it must be random. */
  readonly isToken?: boolean
}

interface Register {
  /** The digest of a secret -> its places. */
  readonly places: Map<string, Set<string>>
  readonly weak: Set<string>
}

const registers = new WeakMap<NodeJS.ProcessEnv, Register>()

/** Registers a secret of the settings in this environment. Of the URL of a database or a server, its password. */
export function registerSecret(env: NodeJS.ProcessEnv, { place, text, isToken = false }: ReadSecret): void {
  const secret = plainSecret(text)
  if (secret === null) return
  const register = registers.get(env) ?? { places: new Map(), weak: new Set() }
  registers.set(env, register)
  const digest = hash('sha256', secret)
  register.places.set(digest, (register.places.get(digest) ?? new Set()).add(place))
  if (isToken && isWeakSecret(text)) register.weak.add(place)
}

const URL_OF_SERVER = /^[a-z+]+:\/\//i
const PASSWORD = /^[a-z+]+:\/\/[^/?#@:]*:([^/?#@]*)@/i

/** A secret without what differs between its spellings. Null: a URL without a password. */
function plainSecret(text: string): string | null {
  const secret = URL_OF_SERVER.test(text) ? decoded(PASSWORD.exec(text)?.[1] ?? '') : text
  return secret === '' ? null : secret.replaceAll(/\s/g, '').replace(/^whsec_/, '')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A weakness of secrets that are each valid. It names their places, but no value. */
export interface SecretWarning {
  /** One secret in several places, or a token that does not look random. */
  readonly is: 'shared' | 'weak'
  readonly places: readonly string[]
}

export function findSecretWarnings(env: NodeJS.ProcessEnv): SecretWarning[] {
  const { places, weak } = registers.get(env) ?? { places: new Map<string, Set<string>>(), weak: new Set<string>() }
  const named = (found: Iterable<string>): string[] => Array.from(found, (place) => nameAsSet(place, env)).toSorted()
  const shared = [...places.values()].filter((found) => found.size > 1)
  return [
    ...shared.map((found): SecretWarning => ({ is: 'shared', places: named(found) })),
    ...named(weak).map((place): SecretWarning => ({ is: 'weak', places: [place] })),
  ]
}

export function logSecretWarnings(warnings: readonly SecretWarning[], logger: Logger): void {
  for (const { is, places } of warnings) {
    if (is === 'shared') logger.warn({ places }, 'secret.shared')
    else logger.warn({ places }, 'secret.weak')
  }
}
