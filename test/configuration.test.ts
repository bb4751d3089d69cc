import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fulfilmentSchema } from '@oncehook/fulfilment/settings'
import { gatewaySchema } from '@oncehook/gateway/start/settings'
import { describe, expect, it } from 'vitest'

const text = readFileSync(resolve(import.meta.dirname, '../docs/reference/settings.md'), 'utf8')

/** In the column of defaults, of a setting that has none and must be set. */
const REQUIRED = 'required'

/** Name -> default in the document, as text; undefined if the document has none. */
function documented(heading: string): Record<string, string | undefined> {
  const [section = ''] = text.slice(text.indexOf(`## ${heading}\n`)).split('\n## ')
  const rows = Array.from(section.matchAll(/^\| (`.+?`) \| (.*?) ?\| .+ \|$/gm), ([, names = '', values = '']) => ({
    names: Array.from(names.matchAll(/`(\w+)`/g), ([, name]) => name),
    values: values === REQUIRED ? [REQUIRED] : Array.from(values.matchAll(/`(.*?)`/g), ([, value]) => value),
  }))
  return Object.fromEntries(rows.flatMap(({ names, values }) => names.map((name, index) => [name, values[index]])))
}

describe('docs/reference/settings.md', () => {
  it.each([
    ['Gateway', gatewaySchema.shape],
    ['Fulfilment', fulfilmentSchema.shape],
  ])('lists every setting of %s with its default or that it is required, and no others', (heading, shape) => {
    const listed = documented(heading)
    expect(Object.keys(listed).toSorted()).toEqual(Object.keys(shape).toSorted())
    for (const [name, setting] of Object.entries(shape)) {
      const absent = setting.safeParse(undefined)
      expect({ name, required: listed[name] === REQUIRED }).toEqual({ name, required: !absent.success })
      if (!absent.success) continue
      const given = setting.safeParse(listed[name])
      expect({ name, value: given.data, ok: given.success }).toEqual({ name, value: absent.data, ok: absent.success })
      const { data } = absent
      const hasDefault = data !== undefined && !(data instanceof Set && data.size === 0) && data !== ''
      expect({ name, documented: listed[name] !== undefined }).toEqual({ name, documented: hasDefault })
    }
  })
})

describe('docs/how-to/three-machines', () => {
  const folder = resolve(import.meta.dirname, '../docs/how-to/three-machines')
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8')

  it.each([
    ['gateway', gatewaySchema.shape],
    ['fulfilment', fulfilmentSchema.shape],
  ])('sets for %s only settings that there are, and all that are required', (service, shape) => {
    const lines = read(`${service}.env`)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    const values = lines.map((line) => line.split('=', 2) as [string, string])
    const set = new Map(
      values.map(([name, value]) => [name.replace(/_FILE$/, ''), name.endsWith('_FILE') ? null : value]),
    )
    expect([...set.keys()].filter((name) => !(name in shape))).toEqual([])
    const required = Object.entries(shape).filter(([, setting]) => !setting.safeParse(undefined).success)
    expect(required.map(([name]) => name).filter((name) => !set.has(name))).toEqual([])
    for (const [name, setting] of Object.entries(shape)) {
      const value = set.get(name)
      if (typeof value === 'string') expect({ name, ok: setting.safeParse(value).success }).toEqual({ name, ok: true })
    }
    expect(read(`oncehook-${service}.service`)).toContain(`EnvironmentFile=/etc/oncehook/${service}.env`)
  })

  it('has the files that the page copies, and no others', () => {
    const page = readFileSync(join(folder, '../deploy-three-machines.md'), 'utf8')
    const copied = Array.from(page.matchAll(/^cp docs\/how-to\/three-machines\/(\S+) /gm), ([, name = '']) => name)
    const isCopied = (file: string): boolean =>
      copied.some((name) => name === file || name === `*${file.slice(file.lastIndexOf('.'))}`)
    expect(copied.length).toBeGreaterThan(2)
    expect(readdirSync(folder).filter((file) => !isCopied(file))).toEqual([])
  })
})
