const ARRAY_INDEX = /^(?:0|[1-9]\d*)$/

/**
 * The value that a JSON Pointer (RFC 6901) names, or undefined where there is none. Own code, because `jsonpointer` also
 * finds inherited properties, such as `constructor`.
 */
export function resolvePointer(document: unknown, pointer: string): unknown {
  let value = document
  for (const escaped of pointer.split('/').slice(1)) {
    const name = escaped.includes('~') ? escaped.replaceAll('~1', '/').replaceAll('~0', '~') : escaped
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    if (Array.isArray(value) && !ARRAY_INDEX.test(name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
