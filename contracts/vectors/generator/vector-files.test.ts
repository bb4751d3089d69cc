import { describe, expect, it } from 'vitest'
import type { Vector } from './recipe.ts'
import { readCases, schemesWithVectors } from './vector-files.ts'

describe.each(schemesWithVectors())('the vectors of %s', (scheme) => {
  const cases = readCases(scheme)

  it('have at least 25 refusals, and a different reason for each delivery', () => {
    expect(cases.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThanOrEqual(25)
    expect(new Set(cases.map(({ why }) => why)).size).toBe(cases.length)
  })

  it('refuse no delivery that they accept in another case', () => {
    const sent = ({ why: _, verdict: _verdict, ...rest }: Vector): string => JSON.stringify(rest)
    const taken = new Set(cases.filter(({ verdict }) => verdict === 'accepted').map(sent))
    expect(cases.filter((one) => one.verdict === 'refused' && taken.has(sent(one)))).toEqual([])
  })
})
