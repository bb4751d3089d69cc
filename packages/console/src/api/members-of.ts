/** The members of a JSON object by their names; none if it is another value. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}
