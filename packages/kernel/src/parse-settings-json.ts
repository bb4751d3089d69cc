import { SettingsError } from './settings.ts'
import { parseStrictJson } from './strict-json.ts'

/**
 * Reads a setting that is JSON. A name that is there twice is refused: which of its values the writer meant, nobody knows.
 * @throws SettingsError that names the setting and quotes nothing of it
 */
export function parseSettingsJson(setting: string, text: string): unknown {
  let value: unknown
  try {
    value = parseStrictJson(Buffer.from(text))
  } catch {
    throw new SettingsError([`${setting} ${isJson(text) ? 'has a name twice' : 'is not valid JSON'}`])
  }
  // Libraries pass over a member of this name.
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new SettingsError([`${setting} has a member __proto__, which cannot be a name`])
  }
  return value
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
