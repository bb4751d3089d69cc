import type { Document } from 'mongodb'

/*
 * Expressions that read the fields of a record. A record that was restored or edited by hand may lack a property, or
 * hold another type in it. One such record must not fail the command that it shares with others.
 */

/** A counter of the record: 0 if it is not a number. */
export function counterOf(property: string): Document {
  const path = `$${property}`
  return { $cond: [{ $isNumber: path }, { $convert: { input: path, to: 'int', onError: 0 } }, 0] }
}

export function raised(property: string): Document {
  return { $add: [counterOf(property), 1] }
}

export function listOf(property: string): Document {
  const path = `$${property}`
  return { $cond: [{ $isArray: path }, path, []] }
}

export function timeOf(property: string): Document {
  const path = `$${property}`
  return { $cond: [{ $eq: [{ $type: path }, 'date'] }, path, null] }
}

/** Milliseconds from a time of the record until now: 0 if there is no time. */
export function msSince(property: string): Document {
  return { $ifNull: [{ $subtract: ['$$NOW', timeOf(property)] }, 0] }
}
