import type { JsonObject } from './operation.ts'

/** Responses that stand once among the components, whoever refers to them. */
export interface SharedResponses {
  /** A reference to a response; equal ones are one component, named after the codes. */
  reference(codes: readonly string[], response: JsonObject): JsonObject
  /** All that were referred to. */
  components(): JsonObject
}

/** Creates an empty collection. */
export function createSharedResponses(): SharedResponses {
  const names = new Map<string, string>()
  return {
    reference(codes, response) {
      const content = JSON.stringify(response)
      const name = names.get(content) ?? freeName(codes.map(toPascalCase).join('Or'), new Set(names.values()))
      names.set(content, name)
      return { $ref: `#/components/responses/${name}` }
    },
    components: () =>
      Object.fromEntries([...names].map(([content, name]) => [name, JSON.parse(content) as JsonObject])),
  }
}

function toPascalCase(code: string): string {
  return code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}${number}`
  return name
}
