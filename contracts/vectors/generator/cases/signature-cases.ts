import { accepted, type Delivered, linesAround, macOf, type Recipe, refused, signatureOf } from '../recipe.ts'
import { BODY, type Vector } from '../vector.ts'

/** The signature as it is written: too short, too long, in another alphabet, behind another prefix, of another hash. */
export function signatureCases(recipe: Recipe): Vector[] {
  const signature = signatureOf(recipe)
  const written = (why: string, text: string, more: Delivered = {}): Vector =>
    refused(recipe, why, { headers: linesAround(recipe, text), ...more })
  const mac = macOf(recipe)
  const flipped = Buffer.from(mac)
  flipped[7] = (flipped[7] ?? 0) ^ 4
  const other = recipe.encoding === 'hex' ? 'base64' : 'hex'
  return [
    written('the signature is empty', ''),
    written('the signature is one character short', signature.slice(0, -1)),
    written('the signature is one byte short', mac.subarray(0, -1).toString(recipe.encoding)),
    written('the signature is one character long', `${signature}0`),
    written('the signature is one byte long', Buffer.concat([mac, Buffer.alloc(1)]).toString(recipe.encoding)),
    written('only the first half of the signature', mac.subarray(0, 16).toString(recipe.encoding)),
    written('the signature has one byte that is not ASCII', `\u00e9${signature.slice(1)}`),
    ...(recipe.blankSeparated === true ? [] : [written('a blank stands behind the signature', `${signature} `)]),
    written('a tab stands behind the signature', `${signature}\t`),
    written('the signature has one bit changed', flipped.toString(recipe.encoding)),
    written(`the signature is ${other === 'hex' ? 'hexadecimal' : 'base64'}`, mac.toString(other)),
    ...ALGORITHMS.filter(([, algorithm]) => algorithm !== recipe.algorithm).map(([name, algorithm]) =>
      written(`the signature is a ${name} HMAC`, signatureOf(recipe, { algorithm })),
    ),
    written('the signature is all zeros', Buffer.alloc(32).toString(recipe.encoding)),
    ...(recipe.encoding === 'hex' ? hexCases(written, signature) : base64Cases(recipe)),
    ...prefixCases(recipe),
  ]
}

const ALGORITHMS = [
  ['SHA-1', 'sha1'],
  ['SHA-512', 'sha512'],
] as const

type Written = (why: string, text: string) => Vector

function hexCases(written: Written, signature: string): Vector[] {
  return [
    written('the signature is upper-case hexadecimal', signature.toUpperCase()),
    written('the signature begins with 0x', `0x${signature}`),
    written('the signature has one letter that is no digit', `g${signature.slice(1)}`),
  ]
}

function base64Cases(recipe: Recipe): Vector[] {
  const body = bodyWithBothSymbols(recipe)
  const signature = signatureOf(recipe, { body })
  const written: Written = (why, text) => refused(recipe, why, { headers: linesAround(recipe, text), body })
  // Neither 32 nor 64 bytes fill their last digit.
  const digits = signature.replace(/=+$/, '')
  const last = digits.at(-1) ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return [
    accepted(recipe, 'the signature holds + and /', { headers: linesAround(recipe, signature), body }),
    written('the signature is in the URL-safe alphabet', signature.replaceAll('+', '-').replaceAll('/', '_')),
    written('the signature has no padding', signature.replace(/=+$/, '')),
    written('the signature has too much padding', `${signature}=`),
    written(
      'the signature has no padding and is in the URL-safe alphabet',
      Buffer.from(signature, 'base64').toString('base64url'),
    ),
    written(
      'the last digit of the signature has unused bits set',
      `${digits.slice(0, -1)}${alphabet[alphabet.indexOf(last) + 1]}${signature.slice(digits.length)}`,
    ),
    written('a blank stands within the signature', `${signature.slice(0, 10)} ${signature.slice(10)}`),
  ]
}

/** A body whose signature contains both symbols that differ between the two alphabets of base64. */
function bodyWithBothSymbols(recipe: Recipe): Buffer {
  for (let at = 0; ; at += 1) {
    const body = recipe.bodyAt?.(at) ?? Buffer.from(JSON.stringify({ ...JSON.parse(BODY.toString()), at }))
    if (/\+.*\/|\/.*\+/.test(signatureOf(recipe, { body }))) return body
  }
}

function prefixCases(recipe: Recipe): Vector[] {
  const { header, prefix, list } = recipe
  const signature = signatureOf(recipe)
  const [, ...others] = linesAround(recipe, signature)
  const written: Written = (why, text) => refused(recipe, why, { headers: [[header, text], ...others] })
  if (list !== undefined) {
    const [line] = linesAround(recipe, signature)
    const value = line?.[1] ?? ''
    return [
      written('the signature has no equals sign', value.replace(`${list.signature}=`, list.signature)),
      written('the time has no equals sign', value.replace(`${list.time}=`, list.time)),
      written('there is no signature', value.split(list.separator)[0] ?? ''),
      written('there is no time', value.split(list.separator).slice(1).join(list.separator)),
      written('there are two times', `${value}${list.separator}${value.split(list.separator)[0]}`),
      written('a blank stands before the signature', value.replace(`${list.signature}=`, `${list.signature}= `)),
      written('a blank stands behind the separator', value.replace(list.separator, `${list.separator} `)),
      written('the member of the signature has another name', value.replace(`${list.signature}=`, 'v9=')),
      written(
        'the member of the signature is named in upper case',
        value.replace(`${list.signature}=`, `${list.signature.toUpperCase()}=`),
      ),
      written('another separator', value.replace(list.separator, list.separator === ',' ? ';' : ',')),
    ]
  }
  if (prefix === undefined) {
    return [
      written('a prefix stands where none is', `sha256=${signature}`),
      written('a version stands before the signature', `v1=${signature}`),
    ]
  }
  return [
    ...(recipe.prefixOptional === true
      ? [accepted(recipe, 'the prefix is left out', { headers: [[header, signature], ...others] })]
      : [written('the prefix is missing', signature)]),
    written('the prefix is in upper case', `${prefix.toUpperCase()}${signature}`),
    written('the prefix is another', `v9=${signature}`),
    written('the prefix stands twice', `${prefix}${prefix}${signature}`),
    written('a blank stands behind the prefix', `${prefix} ${signature}`),
    written('two signatures behind one prefix', `${prefix}${signature},${prefix}${signature}`),
  ]
}
