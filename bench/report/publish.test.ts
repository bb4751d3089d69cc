import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { replaceFigures } from './publish.ts'

const document = readFileSync(join(import.meta.dirname, '../../docs/performance.md'), 'utf8')

describe('replaceFigures', () => {
  it('changes the figures of docs/performance.md and nothing else', () => {
    const once = replaceFigures(document, '| a |\n|---|\n| $1 |\n')
    const twice = replaceFigures(once, '| b |\n|---|\n| 2 |\n')
    expect(once).toContain('| $1 |')
    expect(twice).not.toContain('| $1 |')
    expect(twice).toBe(once.replace('| a |\n|---|\n| $1 |', () => '| b |\n|---|\n| 2 |'))
    expect(once.split('\n')[0]).toBe(document.split('\n')[0])
    expect(once.split('\n').at(-2)).toBe(document.split('\n').at(-2))
  })

  it('refuses a document without a place for figures', () => {
    expect(() => replaceFigures('# Empty', '1')).toThrow('The document has no line')
  })
})
