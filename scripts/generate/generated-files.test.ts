import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generatedFiles } from './generated-files.ts'

const repository = resolve(import.meta.dirname, '../..')

describe('generatedFiles', () => {
  it.each(generatedFiles(repository))('$path is what npm run fix writes', async ({ path, content }) => {
    const text = readFileSync(join(repository, path), 'utf8')
    // The formatter may break the lines of JSON differently.
    const read = path.endsWith('.json') ? (json: string): unknown => JSON.parse(json) : (same: string) => same
    expect(read(text)).toEqual(read(await content()))
  })
})
