import { describe, expect, it } from 'vitest'
import type { Vector } from './vector.ts'
import { vectorFiles } from './vector-files.ts'

const files = await Promise.all(vectorFiles().map(async ({ path, content }) => ({ path, content: await content() })))

describe.each(files)('$path', ({ content }) => {
  const { cases } = JSON.parse(content) as { cases: Vector[] }

  it('holds at least 25 refusals, and says of every delivery another thing', () => {
    expect(cases.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThanOrEqual(25)
    expect(new Set(cases.map(({ why }) => why)).size).toBe(cases.length)
  })

  it('refuses no delivery that it accepts elsewhere', () => {
    const sent = ({ why: _, verdict: _verdict, ...rest }: Vector): string => JSON.stringify(rest)
    const taken = new Set(cases.filter(({ verdict }) => verdict === 'accepted').map(sent))
    expect(cases.filter((one) => one.verdict === 'refused' && taken.has(sent(one)))).toEqual([])
  })
})
