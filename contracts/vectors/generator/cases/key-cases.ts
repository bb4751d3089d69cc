import { isTimed, macOf, type Recipe, refused, signedLines } from '../recipe.ts'
import { BODY, NOW, type Vector } from '../vector.ts'
import { secretCases } from './secret-cases.ts'

/** The key and what is signed: another secret, one that ended, and texts that other providers would sign. */
export function keyCases(recipe: Recipe): Vector[] {
  return [
    ...secretCases(recipe),
    refused(recipe, 'signed with another secret', {
      headers: signedLines(recipe, { secret: recipe.signer?.another ?? 'another_secret' }),
    }),
    ...wrongKeys(recipe).map(([why, key]) =>
      refused(recipe, why, { headers: signedLines(recipe, { key, algorithm: 'sha256' }) }),
    ),
    ...foreignTexts(recipe).map(([why, text]) => refused(recipe, why, { headers: signedLines(recipe, { text }) })),
    ...FOREIGN.filter(({ header }) => header !== recipe.header.toLowerCase()).map(({ scheme, header, prefix }) =>
      refused(recipe, `signed as ${scheme} signs`, {
        headers: [[header, `${prefix}${macOf(recipe, { text: [BODY] }).toString('hex')}`]],
      }),
    ),
  ]
}

/** Other keys that an HMAC might use. If the secret is a public key, any HMAC is a forgery. */
function wrongKeys({ secret, keyOf, signer }: Recipe): [why: string, key: Buffer][] {
  const text: [string, Buffer] = [
    signer === undefined ? 'signed with the text of the secret' : 'an HMAC keyed with the text of the public key',
    Buffer.from(secret),
  ]
  return [
    ['signed with the empty key', Buffer.alloc(0)],
    ...(keyOf === undefined && signer === undefined ? [] : [text]),
    ...(signer === undefined
      ? ([
          ['signed with the secret and a line feed behind it', Buffer.from(`${secret}\n`)],
          ['signed with the secret in upper case', Buffer.from(secret.toUpperCase())],
        ] as [string, Buffer][])
      : []),
  ]
}

/** Where other providers put a signature of the body under the same secret. */
const FOREIGN = [
  { scheme: 'GitHub', header: 'x-hub-signature-256', prefix: 'sha256=' },
  { scheme: 'Lemon Squeezy', header: 'x-signature', prefix: '' },
]

function foreignTexts(recipe: Recipe): [why: string, text: (string | Buffer)[]][] {
  const time = String(NOW)
  const own = Buffer.concat(recipe.text(recipe.body ?? BODY, time).map((part) => Buffer.from(part)))
  const texts: [why: string, text: (string | Buffer)[]][] = [
    ['signed over the body alone', [BODY]],
    ['signed over time, full stop and body', [`${time}.`, BODY]],
    ['signed over the time and the body, one right after the other', [time, BODY]],
    ['signed over the time, a colon and the body', [`${time}:`, BODY]],
    ['signed over the body before the time', [BODY, time]],
    ...(isTimed(recipe) ? [['signed for another time', recipe.text(BODY, String(NOW - 1))] as [string, Buffer[]]] : []),
    ['signed over the base64 of the text', [own.toString('base64')]],
    ['signed over nothing', ['']],
  ]
  return texts.filter(([, text]) => !Buffer.concat(text.map((part) => Buffer.from(part))).equals(own))
}
