import { isDeepStrictEqual } from 'node:util'
import type { Break } from './compare-schemas.ts'
import { isOfType, type JsonSchema, listedValues, typeOf, type Variant, variantsOf } from './json-schema.ts'

/**
 * Finds the parts of a recorded answer that a schema no longer promises: unknown properties, values of another type,
 * and values that it does not list. Properties that the schema adds do no harm.
 */
export function findUnpromised(recorded: unknown, schema: JsonSchema, path = '$'): Break[] {
  const candidates = variantsOf(schema).map((variant) => findInVariant(recorded, variant, path))
  return candidates.toSorted((a, b) => a.length - b.length || depth(b) - depth(a))[0] ?? []
}

/** The alternative that fits to a greater depth explains the break better. */
function depth([first]: readonly Break[]): number {
  return first?.path.length ?? 0
}

function findInVariant(recorded: unknown, schema: Variant, path: string): Break[] {
  const type = typeOf(recorded)
  if (!isOfType(type, schema.type)) return [{ path, problem: `was of type ${type}, is ${schema.type}` }]
  const values = listedValues(schema)
  if (values !== null && !values.some((value) => isDeepStrictEqual(value, recorded))) {
    return [{ path, problem: `the value ${JSON.stringify(recorded)} is gone` }]
  }
  if (Array.isArray(recorded)) {
    return recorded.flatMap((item, index) => findUnpromised(item, schema.items ?? {}, `${path}[${index}]`))
  }
  return type === 'object' ? findInMembers(recorded as object, schema, path) : []
}

function findInMembers(recorded: object, { properties = {}, additionalProperties = true }: Variant, path: string) {
  return Object.entries(recorded).flatMap(([name, value]) => {
    const rest = typeof additionalProperties === 'object' ? additionalProperties : null
    const schema = properties[name] ?? rest ?? (additionalProperties === true ? {} : null)
    const where = `${path}.${name}`
    return schema === null ? [{ path: where, problem: 'removed member' }] : findUnpromised(value, schema, where)
  })
}
