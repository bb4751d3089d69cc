// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Whether a value can be an id or a type: well-formed text of 1 to 255 bytes, not only whitespace, no control characters. */
export function isEventText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 255 || value.trim() === '') return false
  return value.isWellFormed() && Buffer.byteLength(value) <= 255 && !CONTROL.test(value)
}

/** An id as text. A number that a double holds exactly, or a bigint, becomes its digits. Undefined if it is no id. */
export function toId(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : value
  return isEventText(text) ? text : undefined
}
