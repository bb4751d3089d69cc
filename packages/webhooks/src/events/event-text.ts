// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

const MOST_BYTES = 255
// UTF-8 takes at most three bytes for a UTF-16 code unit.
const MOST_BYTES_OF_UNIT = 3

/** Whether a value can be an id or a type: well-formed text of 1 to 255 bytes, not only whitespace, no control characters. */
export function isEventText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MOST_BYTES || value.trim() === '') return false
  const fits = value.length <= MOST_BYTES / MOST_BYTES_OF_UNIT || Buffer.byteLength(value) <= MOST_BYTES
  return fits && value.isWellFormed() && !CONTROL.test(value)
}

/** An id as text. A number that a double holds exactly, or a bigint, becomes its digits. Undefined if it is no id. */
export function toId(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : value
  return isEventText(text) ? text : undefined
}
