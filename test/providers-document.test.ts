import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readProviders } from '@oncehook/gateway/webhooks/providers/providers'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { readVectorFiles } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { UNDOCUMENTED } from '../packages/webhooks/src/schemes/redelivery.ts'
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

/** The settings that the top of the page shows, with the name of this scheme. */
function commonBlock(scheme: string): string {
  const [top = ''] = text.split('\n## ')
  const [json = ''] = blocksOf({ scheme, body: top })
  return json.replaceAll('stripe', scheme)
}

/** The names in a part of a section, sorted; none if it does not have the part. */
function namesOf({ body }: Section, part: string): string[] {
  const [, list = ''] = new RegExp(`^- \\*\\*${part}\\*\\*: ([^]*?)\\n(?! )`, 'm').exec(body) ?? []
  return Array.from(list.matchAll(/`([^`]+)`/g), ([, name = '']) => name).toSorted()
}

const [, signedTable = ''] = text.split('\n## What is signed\n')
/** The rows of the table of signatures. */
const signedRows = Array.from(
  signedTable.split('\n## ')[0]?.matchAll(/^\| ([^|]+) \| [^|]+ \| (`.+`) \|$/gm) ?? [],
  (row) => ({
    signsTime: row[1] === 'time and body',
    schemes: Array.from(row[2]?.matchAll(/`([^`]+)`/g) ?? [], ([, name = '']) => name),
  }),
)

describe('docs/reference/providers.md', () => {
  it('has a section for every scheme, in order, and for nothing else', () => {
    expect(sections.map(({ scheme }) => scheme)).toEqual([...SCHEMES.keys()].toSorted())
  })

  it('has settings in its sections, and once at its top', () => {
    expect(Array.from(text.matchAll(/^```json$/gm))).toHaveLength(sections.flatMap(blocksOf).length + 1)
  })
})

describe('the table of redelivery', () => {
  it('holds the hours of every scheme that does not have those of most, as the code has them', () => {
    const rows = text.matchAll(/^\| (\d+) \| (`.+`) \|$/gm)
    const documented = Array.from(rows, ([, hours, names = '']) =>
      Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => ({ name, hours: Number(hours) })),
    ).flat()
    const coded = Array.from(SCHEMES.values(), ({ name, redelivery: { hours } }) => ({ name, hours }))
    const others = coded.filter(({ hours }) => hours !== UNDOCUMENTED.hours)
    expect(documented).toEqual(others.toSorted((one, other) => one.hours - other.hours))
    expect(text).toContain(`\n| ${UNDOCUMENTED.hours} | all others`)
  })
})

describe.each(sections)('the section of $scheme', (section) => {
  const { scheme, body } = section

  it('shows settings that a gateway starts with once the secrets are there', () => {
    const own = blocksOf(section)
    for (const json of own.length > 0 ? own : [commonBlock(scheme)]) {
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

  it('says where the secret is, and, unless the table of signatures does, what is signed', () => {
    const tableRows = signedRows.filter(({ schemes }) => schemes.includes(scheme))
    expect(body.split('\n- **Secret**: ')).toHaveLength(2)
    expect(body.split('\n- **Signed**: ').length - 1 + tableRows.length).toBe(1)
    const settings = { scheme, secrets: [], toleranceSeconds: 300 }
    for (const { signsTime } of tableRows) expect(SCHEMES.get(scheme)?.signsTime(settings)).toBe(signsTime)
  })

  it('lists under Account the properties that a start expects in the settings', () => {
    expect(namesOf(section, 'Account')).toEqual([...(SCHEMES.get(scheme)?.permits.origin ?? [])].toSorted())
  })

  it.each([
    ['Paid', 'payment.succeeded'],
    ['Failed', 'payment.failed'],
  ])('lists under %s every type that counts as %s', (part, ours) => {
    // A type with the same name as ours counts without a mapping.
    expect(namesOf(section, part).filter((name) => name !== ours)).toEqual(mappedTypes(scheme, ours))
  })
})
