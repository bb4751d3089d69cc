import type { LookupAddress, LookupOptions } from 'node:dns'
import { LookedUpName } from './looked-up-name.ts'
import { createLookupTurns } from './lookup-turns.ts'

/** Resolves a name to all its addresses, as `lookup` of node:dns/promises does. */
export type Lookup = (name: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

/**
 * Lets all handlers share their lookups. A process has two threads for lookups at a time, and no lookup can be ended. So there
 * is one at a time, of whatever name: the other thread is left to fulfilment and the database. Who waits for longer than
 * eight seconds fails, or at once if the lookup of the name has hung for as long. While a lookup waits or hangs, the last
 * addresses of its name are used, if they are less than five minutes old. A failure holds for a second.
 */
export function shareLookup(lookup: Lookup): Lookup {
  const takeTurn = createLookupTurns()
  // Names are in the settings: there are few.
  const names = new Map<string, LookedUpName>()
  return (name, options) => {
    const known = names.get(name) ?? new LookedUpName((begun) => takeTurn(begun, () => lookup(name, options)))
    names.set(name, known)
    return known.find()
  }
}
