import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { addPolledGauges } from './polled-gauges.ts'

const GAUGES = [
  { name: 'a_total_of_things', help: 'Things', read: ({ things }: { things: number | null }) => things },
  { name: 'twice_the_things', help: 'Twice', read: ({ things }: { things: number | null }) => (things ?? 0) * 2 },
]

async function samples(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

describe('addPolledGauges', () => {
  it('queries once at each scrape, however many gauges there are', async () => {
    const registry = new Registry()
    let looks = 0
    addPolledGauges(registry, async () => ({ things: ++looks }), GAUGES)
    expect(await samples(registry)).toEqual(['a_total_of_things 1', 'twice_the_things 2'])
    expect(await samples(registry)).toEqual(['a_total_of_things 2', 'twice_the_things 4'])
  })

  it('omits unknown values, and shows them again when they are known', async () => {
    const registry = new Registry()
    let look: () => Promise<{ things: number | null }> = async () => ({ things: 1 })
    addPolledGauges(registry, () => look(), GAUGES)
    await samples(registry)
    look = async () => ({ things: null })
    expect(await samples(registry)).toEqual(['twice_the_things 0'])
    look = async () => {
      throw new Error('The database is away')
    }
    expect(await samples(registry)).toEqual([])
    look = async () => ({ things: 5 })
    expect(await samples(registry)).toEqual(['a_total_of_things 5', 'twice_the_things 10'])
  })
})
