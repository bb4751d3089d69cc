type Members = Readonly<Record<string, unknown>>

/** Whether a JSON value is an object, not null and not an array. */
export function isJsonObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Applies a JSON Merge Patch (RFC 7396 section 2) without changing its arguments: null removes, objects merge, other
 * values replace. `__proto__` is an ordinary property. Own code, because `json-merge-patch` changes its target.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const result = new Map<string, unknown>(isJsonObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, mergePatch(result.get(name), value))
  }
  return Object.fromEntries(result)
}
