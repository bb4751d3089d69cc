import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { toPrintable } from '../output.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

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
  const [on, off] = [services.filter(({ firstKey }) => firstKey !== null), services.filter(isOff)]
  if (on.length === 0) return ok('encryption', 'Off: ENCRYPTION_KEYS_FILE is not set')
  if (off.length > 0) {
    const message = `On in ${on.map(({ name }) => name).join()} and off in ${off.map(({ name }) => name).join()}`
    return warning('encryption', message, 'Set ENCRYPTION_KEYS_FILE for both')
  }
  return ok(
    'encryption',
    `On, with the key ${[...new Set(on.map(({ firstKey }) => toPrintable(firstKey ?? '')))].join(' and ')}`,
  )
}

function isOff({ firstKey }: { readonly firstKey: string | null }): boolean {
  return firstKey === null
}
