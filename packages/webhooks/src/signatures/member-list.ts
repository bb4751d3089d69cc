import { decodeHex } from './signature.ts'

/** A header such as `t=1760000000,v1=…`, read by the names of its members. Spaces are part of a name or value. */
export interface MemberList {
  readonly header: string
  readonly separator: string
}

const EQUALS = '='.charCodeAt(0)

/** The start of the next member with this name, from `at`, the start of a member; -1 if there is none. */
function findMember({ header, separator }: MemberList, name: string, at: number): number {
  for (let start = at; start <= header.length; ) {
    const behind = start + name.length
    if (header.startsWith(name, start)) {
      // A member without an equals sign is only a name.
      if (behind === header.length || header.charCodeAt(behind) === EQUALS || header[behind] === separator) return start
    }
    const end = header.indexOf(separator, start)
    if (end === -1) return -1
    start = end + 1
  }
  return -1
}

function endOf({ header, separator }: MemberList, start: number): number {
  const end = header.indexOf(separator, start)
  return end === -1 ? header.length : end
}

/** Whether a member has this name. */
export function hasMember(members: MemberList, name: string): boolean {
  return findMember(members, name, 0) !== -1
}

/**
 * The values of a name that are lower-case hexadecimal digits, as bytes; others are ignored. A value begins after the first
 * equals sign of a member.
 */
export function bytesOf(members: MemberList, name: string): Buffer[] {
  const found: Buffer[] = []
  for (let start = findMember(members, name, 0); start !== -1; ) {
    const end = endOf(members, start)
    const bytes = decodeHex(members.header.slice(start + name.length + 1, end))
    if (bytes !== null) found.push(bytes)
    start = findMember(members, name, end + 1)
  }
  return found
}

/** The value of a name that occurs exactly once; undefined if it is missing or repeated. */
export function onlyValueOf(members: MemberList, name: string): string | undefined {
  const start = findMember(members, name, 0)
  if (start === -1) return undefined
  const end = endOf(members, start)
  return findMember(members, name, end + 1) === -1 ? members.header.slice(start + name.length + 1, end) : undefined
}
