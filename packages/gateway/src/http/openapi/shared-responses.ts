import type { JsonObject } from './operation.ts'

/** Responses that are listed once among the components, however many operations refer to them. */
export interface SharedResponses {
  /** Returns a reference to a response. Equal responses are one component, named after the codes. */
  reference(codes: readonly string[], response: JsonObject): JsonObject
  /** All referenced responses. */
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
