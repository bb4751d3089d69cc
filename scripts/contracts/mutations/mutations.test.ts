import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HARMLESS } from './harmless.ts'
import { mutate } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')

describe('the mutations of the contracts', () => {
  it.each(MUTATIONS)('fit the sources: $breaks', (mutation) => {
    const source = readFileSync(join(REPOSITORY, mutation.file), 'utf8')
    expect(mutate(source, mutation)).not.toBe(source)
    expect(existsSync(join(REPOSITORY, mutation.test))).toBe(true)
  })

  it.each(HARMLESS)('have a harmless change that fits the sources: $breaks', (change) => {
    const source = readFileSync(join(REPOSITORY, change.file), 'utf8')
    expect(mutate(source, change)).not.toBe(source)
  })

  it('are at least 40, and at least 15 changes are harmless, each under another name', () => {
    expect(MUTATIONS.length).toBeGreaterThanOrEqual(40)
    expect(HARMLESS.length).toBeGreaterThanOrEqual(15)
    const names = [...MUTATIONS, ...HARMLESS].map(({ breaks }) => breaks)
    expect(new Set(names).size).toBe(names.length)
  })

  it('say so when a source has changed', () => {
    const [mutation = MUTATIONS[0]] = MUTATIONS
    if (mutation === undefined) throw new Error('There are no mutations')
    expect(() => mutate('', mutation)).toThrow('holds 0 times')
    expect(() => mutate(`${mutation.find} ${mutation.find}`, mutation)).toThrow('holds 2 times')
  })
})
