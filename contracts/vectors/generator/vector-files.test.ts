import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Vector } from './vector.ts'
import { vectorFiles } from './vector-files.ts'

const files = await Promise.all(vectorFiles().map(async ({ path, content }) => ({ path, content: await content() })))

describe('the files of contracts/vectors', () => {
  it('are all generated', () => {
    const there = readdirSync(resolve(import.meta.dirname, '..')).filter((name) => name.endsWith('.json'))
    expect(files.map(({ path }) => path).toSorted()).toEqual(
      there.map((name) => `contracts/vectors/${name}`).toSorted(),
    )
  })
})

describe.each(files)('$path', ({ content }) => {
  const { cases } = JSON.parse(content) as { cases: Vector[] }

  it('has at least 25 refusals, and a different reason for each delivery', () => {
    expect(cases.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThanOrEqual(25)
    expect(new Set(cases.map(({ why }) => why)).size).toBe(cases.length)
  })

  it('refuses no delivery that it accepts in another case', () => {
    const sent = ({ why: _, verdict: _verdict, ...rest }: Vector): string => JSON.stringify(rest)
    const taken = new Set(cases.filter(({ verdict }) => verdict === 'accepted').map(sent))
    expect(cases.filter((one) => one.verdict === 'refused' && taken.has(sent(one)))).toEqual([])
  })
})
