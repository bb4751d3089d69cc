import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '..')

/** The signatures, in base64, that the vectors of a scheme already contain; none if there is no such file. */
export function knownSignatures(scheme: string): Buffer[] {
  const path = join(FOLDER, `${scheme}.json`)
  if (!existsSync(path)) return []
  const { cases } = JSON.parse(readFileSync(path, 'utf8')) as { cases: { headers: [string, string][] }[] }
  const values = cases.flatMap(({ headers }) => headers.map(([, value]) => value))
  return [...new Set(values)].map((value) => Buffer.from(value, 'base64')).filter((bytes) => bytes[0] === 0x30)
}
