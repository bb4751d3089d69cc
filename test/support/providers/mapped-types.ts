import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Preset } from '../../../packages/webhooks/src/presets/preset.ts'
import { PRESETS } from '../../../packages/webhooks/src/presets/presets.ts'

const repository = resolve(import.meta.dirname, '..', '..', '..')

/** The provider's types that a preset, or the file of a scheme, maps to one of ours, sorted. */
export function mappedTypes(scheme: string, ours: string): string[] {
  const preset = PRESETS.find(({ name }) => name === scheme)
  if (preset !== undefined) return typesOf(preset, ours)
  const [file] = globSync(`packages/webhooks/src/schemes/*/${scheme}.ts`, { cwd: repository })
  if (file === undefined) throw new Error(`There is no file of ${scheme}`)
  const source = readFileSync(join(repository, file), 'utf8')
  return Array.from(source.matchAll(/(?:'([^']+)'|(\w+)): (?:\{ is: )?'(payment\.\w+)'/g))
    .filter(([, , , type]) => type === ours)
    .map(([, quoted, bare]) => quoted ?? bare ?? '')
    .toSorted()
}

function typesOf({ types }: Preset, ours: string): string[] {
  const names = Object.entries(types).filter(([, is]) => (typeof is === 'string' ? is : is.is) === ours)
  return names.map(([name]) => name).toSorted()
}
