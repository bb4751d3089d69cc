import type { Document } from 'mongodb'

/*
 * Expressions that read what a record holds. A record that was restored or edited by hand may lack a property or hold
 * another type there: one such record must not fail the command that it shares with others.
 */

/** A counter of the record: 0 where there is no number. */
export function counterOf(property: string): Document {
  const path = `$${property}`
  return { $cond: [{ $isNumber: path }, { $convert: { input: path, to: 'int', onError: 0 } }, 0] }
}

/** A counter of the record, raised by one. */
export function raised(property: string): Document {
  return { $add: [counterOf(property), 1] }
}

/** A list of the record: empty where there is none. */
export function listOf(property: string): Document {
  const path = `$${property}`
  return { $cond: [{ $isArray: path }, path, []] }
}

/** A time of the record, a timestamp included: null where there is none. */
export function timeOf(property: string): Document {
  const path = `$${property}`
  const isTime = { $in: [{ $type: path }, ['date', 'timestamp']] }
  return { $cond: [isTime, { $toDate: path }, null] }
}

/** A positive whole number of the record: `otherwise` where there is none. */
export function positiveOr(property: string, otherwise: number): Document {
  const number = counterOf(property)
  return { $cond: [{ $gt: [number, 0] }, number, otherwise] }
}

/** Milliseconds from a time of the record until now: 0 where there is no time. */
export function msSince(property: string): Document {
  return { $ifNull: [{ $subtract: ['$$NOW', timeOf(property)] }, 0] }
}
