import type { LookupAddress, LookupOptions } from 'node:dns'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'

/** Resolves a name to all its addresses, as `lookup` of node:dns/promises does. */
export type Lookup = (name: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

/** The error of a name whose addresses are not known in time. */
class LookupTimeoutError extends Error {
  override readonly name = 'LookupTimeoutError'
  readonly code = 'ELOOKUPTIMEOUT'
}

// The system asks a second name server after five seconds.
const PATIENCE_MS = 8_000
const FAILED_MS = 1_000

/**
 * Lets all who look up a name at the same time share one lookup. A process has threads for few lookups at a time, and they
 * cannot be ended: one name server that hangs must not take them from all others. So while a lookup hangs, there is no
 * second one, and all who ask fail after eight seconds, or at once if it has hung for longer. A failure holds for a second.
 */
export function shareLookup(lookup: Lookup): Lookup {
  const shared = new Map<string, Promise<LookupAddress[]>>()
  const begin: Lookup = (name, options) => {
    const looked = lookup(name, options)
    const forget = (): void => void shared.delete(name)
    looked.then(forget, () => setTimeout(forget, FAILED_MS).unref())
    const found = inTime(looked)
    shared.set(name, found)
    return found
  }
  return (name, options) => shared.get(name) ?? begin(name, options)
}

async function inTime(looked: Promise<LookupAddress[]>): Promise<LookupAddress[]> {
  const found = await withTimeout(looked, PATIENCE_MS)
  if (found === TIMED_OUT) throw new LookupTimeoutError('The name of the host could not be looked up in time')
  return found
}
