import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { GeneratedFile } from '../../../scripts/generate/generated-files.ts'
import { commonCases } from './common-cases.ts'
import type { Vector } from './recipe.ts'
import { RECIPES } from './recipes.ts'

const FOLDER = resolve(import.meta.dirname, '..')
const ABOUT =
  'Deliveries and the expected result of their verification. secret: as the provider shows it; empty if there is none. notAfter: when it expired, if it did. now: the time of verification, in seconds since 1970; the tolerance is 300 s unless the settings differ. headers: lines in the order sent, one character per byte (ISO 8859-1). query: of the request target, without the question mark. body: base64 of the bytes. Accepted deliveries whose why begins with "signed as" have only headers that are signed or carry the signature.'

/** The cases that a file of `contracts/vectors` has now. */
export function readCases(scheme: string): Vector[] {
  const file = join(FOLDER, `${scheme}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { cases: Vector[] }).cases : []
}

/** The schemes that have a file. */
export function schemesWithVectors(): string[] {
  return globSync('*.json', { cwd: FOLDER }).map((name) => name.replace('.json', ''))
}

/**
 * The files of the schemes with a recipe. Their common cases are made by rule. All other cases are data: they stay as they are,
 * in their place.
 */
export function vectorFiles(): GeneratedFile[] {
  return [...Map.groupBy(RECIPES, ({ scheme }) => scheme)].map(([scheme, recipes]) => ({
    path: `contracts/vectors/${scheme}.json`,
    content: async () => {
      const made = new Map(recipes.flatMap(commonCases).map((one) => [one.why, one]))
      const now = readCases(scheme)
      const known = new Set(now.map(({ why }) => why))
      const added = [...made.values()].filter(({ why }) => !known.has(why))
      return fileOf(scheme, [...now.map((one) => made.get(one.why) ?? one), ...added])
    },
  }))
}

/** One delivery per line, so that a changed delivery shows as one changed line. */
function fileOf(scheme: string, vectors: readonly Vector[]): string {
  const lines = vectors.map((vector) => `    ${JSON.stringify(vector)}`)
  const head = `  "scheme": ${JSON.stringify(scheme)},\n  "about": ${JSON.stringify(ABOUT)},\n  "cases": [`
  return `{\n${head}\n${lines.join(',\n')}\n  ]\n}\n`
}
