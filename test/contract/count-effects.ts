import type { Collection } from 'mongodb'

/** How often each key has had its effect. */
export async function countEffects(effects: Collection): Promise<Readonly<Record<string, number>>> {
  const found = await effects.find().toArray()
  const counts = Map.groupBy(found, ({ key }) => String(key))
  return Object.fromEntries(Array.from(counts, ([key, all]) => [key, all.length]))
}
