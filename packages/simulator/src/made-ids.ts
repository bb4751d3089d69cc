import { createHash } from 'node:crypto'

/** A number of 15 digits in the place of a name, for providers that number their objects; a number stays what it is. */
export function toNumber(name: string): number {
  if (/^[1-9]\d{0,14}$/.test(name)) return Number(name)
  return 1e14 + (createHash('sha256').update(name).digest().readUIntBE(0, 6) % 9e14)
}

/** A UUID in the place of a name; a UUID stays what it is. */
export function toUuid(name: string): string {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)) return name
  const digits = createHash('sha256').update(name).digest('hex')
  const variant = '89ab'.charAt(Number.parseInt(digits.charAt(16), 16) % 4)
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-')
}
