import type { Registry } from 'prom-client'
import { addPolledGauges } from '../polled-gauges.ts'
import type { KeyRegister } from './key-register.ts'

/**
 * Adds a gauge of the encryption keys that records need and this process lacks. It stays above 0 as long as one is missing,
 * whether or not anybody reads such a record.
 */
export function addMissingKeysGauge(registry: Registry, register: Pick<KeyRegister, 'missing'>): void {
  addPolledGauges(registry, () => register.missing(), [
    {
      name: 'oncehook_encryption_keys_missing',
      help: 'Encryption keys that records of the database need and this process does not have',
      read: (missing) => missing.length,
    },
  ])
}
