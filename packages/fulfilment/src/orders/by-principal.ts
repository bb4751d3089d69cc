/** The principal on whose behalf an order is written, and the limit on the orders it may access. */
export interface ByPrincipal {
  /** Null or absent if unknown. */
  readonly principal?: string | null
  /** Restricts access to the orders of this principal. Absent: all orders. */
  readonly owner?: string | undefined
}

/** Update operators that record who changed an order. An unknown principal also overwrites an earlier one. */
export function changedBy(principal: string | null): { $set: object; $unset: Record<string, ''> } {
  return principal === null ? { $set: {}, $unset: { changedBy: '' } } : { $set: { changedBy: principal }, $unset: {} }
}

/** Fields for `$set` in a pipeline, as literals: a string that starts with `$` would be read as a field path. */
export function asLiterals(members: object): Record<string, { readonly $literal: unknown }> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { $literal: value }]))
}
