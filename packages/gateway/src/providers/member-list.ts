import { decodeHex } from './signature.ts'

/** A header like `t=1760000000,v1=…`, to be read by the names of its members; blanks are part of what they stand in. */
export interface MemberList {
  readonly header: string
  readonly separator: string
}

/** All values of a name, in their order: what stands behind the first equals sign of each member that is named so. */
export function valuesOf({ header, separator }: MemberList, name: string): string[] {
  const values: string[] = []
  for (let at = 0; at <= header.length; ) {
    const found = header.indexOf(separator, at)
    const end = found === -1 ? header.length : found
    const behind = at + name.length
    // A member without an equals sign is its name alone.
    if (header.startsWith(name, at) && (behind === end || (behind < end && header[behind] === '=')))
      values.push(header.slice(behind + 1, Math.max(behind + 1, end)))
    at = end + 1
  }
  return values
}

/** The values of a name that are lower-case hexadecimal digits, as bytes; others are passed over. */
export function bytesOf(members: MemberList, name: string): Buffer[] {
  const found: Buffer[] = []
  for (const value of valuesOf(members, name)) {
    const bytes = decodeHex(value)
    if (bytes !== null) found.push(bytes)
  }
  return found
}

/** The value of a name that stands there exactly once; undefined when it is missing or repeated. */
export function onlyValueOf(members: MemberList, name: string): string | undefined {
  const values = valuesOf(members, name)
  return values.length === 1 ? values[0] : undefined
}
