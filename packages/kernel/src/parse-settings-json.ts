import { SettingsError } from './settings.ts'
import { parseStrictJson } from './strict-json.ts'

/**
 * Parses a JSON setting. Duplicate keys are rejected, because it is unclear which value was intended.
 * @throws SettingsError that names the setting without quoting its value
 */
export function parseSettingsJson(setting: string, text: string): unknown {
  let value: unknown
  try {
    value = parseStrictJson(Buffer.from(text))
  } catch {
    throw new SettingsError([`${setting} ${isJson(text) ? 'has a name twice' : 'is not valid JSON'}`])
  }
  // Libraries ignore a property with this name.
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new SettingsError([`${setting} has a property __proto__, which is not allowed`])
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
