import { type JsonSchema, type Variant, variantsOf } from '../json-schema.ts'

/** What a schema says at one of its places: for each rule, its values in all alternatives, as text. */
export type Rules = Readonly<Record<string, string>>

/**
 * What a schema says at each of its places. The places have the names that `compareSchemas` gives them, such as
 * `$.items[].price`.
 */
export function flattenSchema(schema: JsonSchema): ReadonlyMap<string, Rules> {
  const said = Array.from(placesOf(schema, { path: '$', isRequired: true }))
  const groups = Map.groupBy(said, ({ path }) => path)
  return new Map(Array.from(groups, ([path, all]) => [path, mergeRules(all.map(({ rules }) => rules))]))
}

function mergeRules(all: readonly object[]): Rules {
  const entries = all.flatMap((rules) => Object.entries(rules))
  const byRule = Map.groupBy(entries, ([rule]) => rule)
  const merged = Array.from(byRule, ([rule, values]) => {
    const texts = new Set(values.map(([, value]) => JSON.stringify(value)))
    return [rule, [...texts].toSorted().join(' or ')] as const
  })
  return Object.fromEntries(merged)
}

interface Place {
  readonly path: string
  readonly isRequired: boolean
}

interface Said {
  readonly path: string
  readonly rules: object
}

function* placesOf(schema: JsonSchema, { path, isRequired }: Place): Generator<Said> {
  for (const variant of variantsOf(schema)) {
    yield { path, rules: { required: isRequired, ...ownRules(variant) } }
    for (const [name, member] of Object.entries(variant.properties ?? {})) {
      yield* placesOf(member, { path: `${path}.${name}`, isRequired: variant.required?.includes(name) ?? false })
    }
    for (const [inner, where] of insideOf(variant, path)) yield* placesOf(inner, { path: where, isRequired: true })
  }
}

/** The rules for the value itself. Those for what is inside have their own places. */
function ownRules({ properties: _, required: __, items: ___, propertyNames: ____, ...rules }: Variant): object {
  return rules.type === 'object' ? { ...rules, additionalProperties: rules.additionalProperties !== false } : rules
}

function insideOf({ items, propertyNames, additionalProperties }: Variant, path: string): [JsonSchema, string][] {
  return [
    ...(items === undefined ? [] : [[items, `${path}[]`] satisfies [JsonSchema, string]]),
    ...(propertyNames === undefined ? [] : [[propertyNames, `${path}, a name`] satisfies [JsonSchema, string]]),
    ...(typeof additionalProperties === 'object'
      ? [[additionalProperties, `${path}.*`] satisfies [JsonSchema, string]]
      : []),
  ]
}
