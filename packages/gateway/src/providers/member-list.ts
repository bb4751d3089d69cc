/** One member of a header like `t=1760000000,v1=…`: its name and what stands behind the first equals sign. */
export type ListMember = readonly [name: string, value: string]

/** The members of a header, in their order; blanks are part of what they stand in. */
export function splitMembers(header: string, separator: string): ListMember[] {
  return header.split(separator).map((member) => {
    const equals = member.indexOf('=')
    return equals === -1 ? [member, ''] : [member.slice(0, equals), member.slice(equals + 1)]
  })
}

/** All values of a name, in their order. */
export function valuesOf(members: readonly ListMember[], name: string): string[] {
  return members.filter(([one]) => one === name).map(([, value]) => value)
}

/** The value of a name that stands there exactly once; undefined when it is missing or repeated. */
export function onlyValueOf(members: readonly ListMember[], name: string): string | undefined {
  const values = valuesOf(members, name)
  return values.length === 1 ? values[0] : undefined
}
