import { crc32 } from 'node:zlib'

const CASE_BIT = 0x20

/**
 * Another body with the CRC-32 of `original`: `forged` with some of the letters in its longest run of `a` in upper case. A
 * CRC is linear, so 32 independent letters are enough; the run has 48 or more.
 */
export function forgeChecksum(original: Buffer, forged: string): Buffer {
  const body = Buffer.from(forged)
  const start = forged.indexOf('a'.repeat(48))
  if (start === -1) throw new Error('There are no 48 free letters')
  const before = crc32(body)
  const effectOf = (index: number): number => {
    const flipped = Buffer.from(body)
    flipped[index] = (flipped[index] ?? 0) ^ CASE_BIT
    return (crc32(flipped) ^ before) >>> 0
  }
  // Each row: what a set of letters does to the checksum; kept by its highest bit.
  const rows = new Map<number, { effect: number; letters: bigint }>()
  for (let letter = 0; letter < 48; letter += 1) {
    const row = reduce(rows, { effect: effectOf(start + letter), letters: 1n << BigInt(letter) })
    if (row.effect !== 0) rows.set(31 - Math.clz32(row.effect), row)
  }
  const solved = reduce(rows, { effect: (crc32(original) ^ before) >>> 0, letters: 0n })
  if (solved.effect !== 0) throw new Error('These letters cannot reach the checksum')
  for (let letter = 0; letter < 48; letter += 1) {
    if ((solved.letters >> BigInt(letter)) & 1n) body[start + letter] = (body[start + letter] ?? 0) ^ CASE_BIT
  }
  return body
}

type Row = { effect: number; letters: bigint }

function reduce(rows: ReadonlyMap<number, Row>, row: Row): Row {
  let { effect, letters } = row
  for (let bit = 31; bit >= 0; bit -= 1) {
    const known = (effect >>> bit) & 1 ? rows.get(bit) : undefined
    if (known === undefined) continue
    effect = (effect ^ known.effect) >>> 0
    letters ^= known.letters
  }
  return { effect, letters }
}
