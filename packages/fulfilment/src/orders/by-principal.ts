/** For whom an order is written, and whose orders that one may touch. */
export interface ByPrincipal {
  /** Null, or left out, where it is not known. */
  readonly principal?: string | null
  /** The principal whose orders alone count; absent: all of them. */
  readonly owner?: string | undefined
}

/** The operators of an update that name who changed an order. An unknown one takes the place of an earlier one too. */
export function changedBy(principal: string | null): { $set: object; $unset: Record<string, ''> } {
  return principal === null ? { $set: {}, $unset: { changedBy: '' } } : { $set: { changedBy: principal }, $unset: {} }
}

/** Members for the `$set` of a pipeline: there a text that begins with `$` would name a field. */
export function asLiterals(members: object): Record<string, { readonly $literal: unknown }> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { $literal: value }]))
}
