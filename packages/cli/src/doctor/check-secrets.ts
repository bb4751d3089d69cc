// The checks of keys: the secrets of the providers, and those for encryption at rest.

import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toPrintable, toTime } from '../output.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

export const SOON_MS = 7 * 86_400_000

type Provider = Awaited<ReturnType<OperatorClient['providers']['list']['query']>>[number]
type Secret = Provider['secrets'][number]

/** Checks that every provider has a valid secret, and that no secret in use expires soon. */
export async function checkSecrets(client: OperatorClient, now: number): Promise<Finding[]> {
  const providers = await ask(client.providers.list.query())
  if (providers.length === 0) {
    return [
      warning('secrets', 'No provider is configured, so every delivery gets 404', 'Set PROVIDERS or PROVIDERS_FILE'),
    ]
  }
  const findings = providers.flatMap((provider) => checkProvider(provider, now))
  return findings.length > 0 ? findings : [ok('secrets', `No secret of the ${providers.length} providers expires soon`)]
}

function checkProvider({ name, secrets }: Provider, now: number): Finding[] {
  const living = secrets.filter((secret) => endOf(secret) > now)
  if (living.length === 0) {
    return [
      failure(
        'secrets',
        `Every secret of ${toPrintable(name)} has expired`,
        'Add the secret that the provider uses now',
      ),
    ]
  }
  return living
    .filter((secret) => endOf(secret) - now <= SOON_MS && isInUse(secret, living))
    .map(({ id, notAfter }) =>
      warning(
        'secrets',
        `The secret ${toPrintable(id)} of ${toPrintable(name)} is in use and expires ${toTime(notAfter)}`,
        'Switch the provider to the new secret before then, or extend its notAfter',
      ),
    )
}

export function endOf({ notAfter }: Pick<Secret, 'notAfter'>): number {
  return notAfter === null ? Number.POSITIVE_INFINITY : Date.parse(notAfter)
}

/** True for the secret of the latest match, and for an only secret. */
function isInUse(secret: Secret, living: readonly Secret[]): boolean {
  const last = ({ lastMatchedAt }: Secret): number => Date.parse(lastMatchedAt ?? '') || 0
  return living.length === 1 || (last(secret) > 0 && last(secret) >= Math.max(...living.map(last)))
}

/** Checks that both services have all keys that their records use. */
export async function checkEncryption(client: OperatorClient): Promise<Finding> {
  const { gateway, fulfilment } = await ask(client.encryption.status.query())
  const services = [
    { name: 'the gateway', ...gateway },
    { name: 'fulfilment', ...fulfilment },
  ]
  const lacking = services.flatMap(({ name, missing }) => missing.map((key) => `${toPrintable(key)} of ${name}`))
  if (lacking.length > 0) {
    return failure(
      'encryption',
      `Some records are encrypted with missing keys (key_unknown): ${lacking.join(', ')}`,
      'Put the keys back into ENCRYPTION_KEYS_FILE, then run oncehook encryption rotate',
    )
  }
  const on = services.filter(({ firstKey }) => firstKey !== null)
  const off = services.filter(({ firstKey }) => firstKey === null)
  if (on.length === 0) return ok('encryption', 'Off: ENCRYPTION_KEYS_FILE is not set')
  if (off.length > 0) {
    const message = `On in ${on.map(({ name }) => name).join()} and off in ${off.map(({ name }) => name).join()}`
    return warning('encryption', message, 'Set ENCRYPTION_KEYS_FILE for both')
  }
  const keys = new Set(on.map(({ firstKey }) => toPrintable(firstKey ?? '')))
  return ok('encryption', `On, with the key ${[...keys].join(' and ')}`)
}
