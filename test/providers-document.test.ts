import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readProviders } from '@oncehook/gateway/webhooks/providers/providers'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { readVectorFiles } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { mappedTypes } from './support/providers/mapped-types.ts'

const repository = resolve(import.meta.dirname, '..')
const text = readFileSync(join(repository, 'docs/reference/providers.md'), 'utf8')

interface Section {
  readonly scheme: string
  readonly body: string
}

const sections: readonly Section[] = text
  .split(/^## /m)
  .map((body) => ({ scheme: /^`([a-z0-9-]+)`: \S/.exec(body)?.[1] ?? '', body }))
  .filter(({ scheme }) => scheme !== '')

/** A secret that the scheme can read: that of its first vector; empty if the provider has none. */
function secretOf(scheme: string): string {
  const first = readVectorFiles().find((file) => file.scheme === scheme)?.cases[0]
  if (first === undefined) throw new Error(`There are no vectors of ${scheme}`)
  return first.secret
}

function blocksOf({ body }: Section): string[] {
  return Array.from(body.matchAll(/^```json\n(.*?)^```$/gms), ([, json = '']) => json)
}

/** The names in a part of a section, sorted. */
function namesOf({ body }: Section, part: string): string[] {
  const [, list = ''] = new RegExp(`^- \\*\\*${part}\\*\\*: ([^]*?)\\n(?! )`, 'm').exec(body) ?? []
  return Array.from(list.matchAll(/`([^`]+)`/g), ([, name = '']) => name).toSorted()
}

describe('docs/reference/providers.md', () => {
  it('has a section for every scheme, in order, and for nothing else', () => {
    expect(sections.map(({ scheme }) => scheme)).toEqual([...SCHEMES.keys()].toSorted())
  })

  it('has settings in its sections only', () => {
    expect(Array.from(text.matchAll(/^```json$/gm))).toHaveLength(sections.flatMap(blocksOf).length)
  })
})

describe('the table of redelivery', () => {
  it('holds the hours and the source of every scheme, as the code has them', () => {
    const rows = text.matchAll(/^\| `([a-z0-9-]+)` \| (\d+) \| (.+) \|$/gm)
    const documented = Array.from(rows, ([, scheme, hours, source]) => [scheme, Number(hours), source])
    const coded = Array.from(SCHEMES.values(), ({ name, redelivery }) => [name, redelivery.hours, redelivery.source])
    expect(documented).toEqual(coded.toSorted())
  })
})

describe.each(sections)('the section of $scheme', (section) => {
  const { scheme, body } = section

  it('shows settings that a gateway starts with once the secrets are there', () => {
    const blocks = blocksOf(section)
    expect(blocks).not.toEqual([])
    for (const json of blocks) {
      const shown = JSON.parse(json) as Record<string, { readonly scheme: string }>
      expect(Object.values(shown).map((settings) => settings.scheme)).toEqual([scheme])
      // The secrets of published vectors are short.
      const lenient = Object.entries(shown).map(([name, settings]) => [name, { ...settings, acceptShortSecret: true }])
      const secret = secretOf(scheme)
      const readFile = (path: string): string => (path.endsWith('-api') ? 'a_token_of_the_api' : secret)
      const sources = { readEnv: () => secret, readFile, maxBytes: 1_048_576, toleranceSeconds: 300 }
      expect(readProviders(JSON.stringify(Object.fromEntries(lenient)), sources).size).toBe(1)
    }
  })

  it('says where the secret is, what the provider does and what is signed', () => {
    for (const part of [
      '**Secret**: ',
      '- **Delivery behaviour**: ',
      '- **Signed**: ',
      '- **Paid**: ',
      '- **Failed**: ',
    ]) {
      expect(body.split(`\n${part}`), part).toHaveLength(2)
    }
  })

  it.each([
    ['Paid', 'payment.succeeded'],
    ['Failed', 'payment.failed'],
  ])('lists under %s every type that counts as %s', (part, ours) => {
    // A type with the same name as ours counts without a mapping.
    expect(namesOf(section, part).filter((name) => name !== ours)).toEqual(mappedTypes(scheme, ours))
  })
})
