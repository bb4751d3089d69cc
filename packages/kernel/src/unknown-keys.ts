import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'

/** Creates the counter `oncehook_unknown_encryption_keys_total` in a registry. Each call of the result counts one. */
export function createUnknownKeys(registry: Registry): () => void {
  const unknown = new Counter({
    name: 'oncehook_unknown_encryption_keys_total',
    help: 'Reads of encrypted records that failed because the encryption key is missing (key_unknown)',
    registers: [registry],
  })
  return () => unknown.inc()
}
