import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALL_MUTATIONS as MUTATIONS } from './all-mutations.ts'
import { mutate } from './mutations.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..')

describe('the mutations of the contracts', () => {
  it.each(MUTATIONS)('fit the sources: $breaks', (mutation) => {
    const source = readFileSync(join(REPOSITORY, mutation.file), 'utf8')
    expect(mutate(source, mutation)).not.toBe(source)
    expect(existsSync(join(REPOSITORY, mutation.test))).toBe(true)
  })

  it('say so when a source has changed', () => {
    const [mutation = MUTATIONS[0]] = MUTATIONS
    if (mutation === undefined) throw new Error('There are no mutations')
    expect(() => mutate('', mutation)).toThrow('holds 0 times')
    expect(() => mutate(`${mutation.find} ${mutation.find}`, mutation)).toThrow('holds 2 times')
  })
})
