/**
 * Whether a certificate (DER, RFC 5280) has an extension. node:crypto does not show those it does not know. The structure is
 * followed, because the bytes of the identifier could also be part of a name that somebody chose.
 */
export function hasExtension(certificate: Buffer, identifier: string): boolean {
  const [whole] = readValues(certificate)
  const [signed] = readValues(whole?.content)
  const extensions = readValues(signed?.content).find(({ tag }) => tag === EXTENSIONS)
  const [list] = readValues(extensions?.content)
  const wanted = encodeIdentifier(identifier)
  return readValues(list?.content).some(({ content }) => {
    const [name] = readValues(content)
    return name?.tag === OBJECT_IDENTIFIER && name.content.equals(wanted)
  })
}

const OBJECT_IDENTIFIER = 0x06
// [3] EXPLICIT, of TBSCertificate.
const EXTENSIONS = 0xa3
// As many as the longest list has, with room.
const MOST_VALUES = 64

interface Value {
  readonly tag: number
  readonly content: Buffer
}

/** The values that stand one after the other in these bytes; those before the first one that cannot be read. */
function readValues(bytes: Buffer = Buffer.alloc(0)): Value[] {
  const values: Value[] = []
  for (let at = 0; at + 2 <= bytes.length && values.length < MOST_VALUES; ) {
    const first = bytes.readUInt8(at + 1)
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const start = at + 2 + lengthBytes
    if (first === 0x80 || lengthBytes > 3 || start > bytes.length) break
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
    if (start + length > bytes.length) break
    values.push({ tag: bytes.readUInt8(at), content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return values
}

/** The content of an object identifier: base 128, all bytes of a number but its last one with the highest bit. */
function encodeIdentifier(identifier: string): Buffer {
  const [first = 0, second = 0, ...rest] = identifier.split('.').map(Number)
  return Buffer.from([first * 40 + second, ...rest].flatMap(encodeNumber))
}

function encodeNumber(number: number): number[] {
  const bytes = [number & 0x7f]
  for (let left = number >>> 7; left > 0; left >>>= 7) bytes.unshift(0x80 | (left & 0x7f))
  return bytes
}
