/** A Pact Broker, and how to sign in to it. */
export interface Broker {
  readonly url: URL
  /** The header `authorization` of each request. Undefined if the broker asks for none. */
  readonly authorization: string | undefined
  /** The environment of the official client, which reads the same settings. It has no empty ones. */
  readonly env: NodeJS.ProcessEnv
}

const NAMES = ['PACT_BROKER_BASE_URL', 'PACT_BROKER_TOKEN', 'PACT_BROKER_USERNAME', 'PACT_BROKER_PASSWORD'] as const

/**
 * Reads the settings that every client of a Pact Broker knows. Returns null if no broker is set.
 * @throws if the URL is not one of http or https, or contains a user
 */
export function readBroker(env: NodeJS.ProcessEnv): Broker | null {
  const [base, token, user, password = ''] = NAMES.map((name) => env[name] || undefined)
  if (base === undefined) return null
  const url = URL.parse(base)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error('PACT_BROKER_BASE_URL must be the URL of a Pact Broker, such as https://broker.example.org')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('PACT_BROKER_BASE_URL must have no user: set PACT_BROKER_USERNAME and PACT_BROKER_PASSWORD')
  }
  const basic = user && `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const empty: readonly string[] = NAMES.filter((name) => !env[name])
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !empty.includes(name)))
  return { url, authorization: token ? `Bearer ${token}` : basic, env: own }
}

/** The line that says why nothing was done. */
export const NO_BROKER =
  'No Pact Broker is set (PACT_BROKER_BASE_URL): nothing is published, and can-i-deploy is not asked'
