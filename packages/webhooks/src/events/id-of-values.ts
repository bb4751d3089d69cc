import { hash } from 'node:crypto'

/**
 * The id of an event whose provider names none, but counts the attempts in the body, so that a hash of the bytes would differ: a
 * hash of the values that make it this event. Undefined if all of them are missing. Other values always give another text: each
 * stands in its place, a missing one is told from null, and text is told from a number that is as long as an id.
 */
export function idOfValues(values: readonly unknown[]): string | undefined {
  if (values.every((value) => value === undefined)) return undefined
  const text = JSON.stringify(
    values.map((value) => (value === undefined ? [] : [value])),
    (_, value: unknown) => {
      if (typeof value === 'bigint') return `number ${value}`
      return typeof value === 'string' ? `text ${value}` : value
    },
  )
  return `sha256:${hash('sha256', text, 'base64url')}`
}
