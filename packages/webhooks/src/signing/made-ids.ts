import { createHash } from 'node:crypto'

/** Derives a 15-digit number from a name, for providers with numeric ids. A number stays unchanged. */
export function toNumber(name: string): number {
  if (/^[1-9]\d{0,14}$/.test(name)) return Number(name)
  return 1e14 + (createHash('sha256').update(name).digest().readUIntBE(0, 6) % 9e14)
}

/** Derives a UUID from a name. A UUID stays unchanged. */
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
