import { accepted, isTimed, macOf, type Recipe, refused, signedLines } from './recipe.ts'
import { BODY, NOW, type Vector } from './vector.ts'

/** The key and what is signed: another secret, one that ended, and texts that other providers would sign. */
export function keyCases(recipe: Recipe): Vector[] {
  const at = (seconds: number): string => new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
  return [
    accepted(recipe, 'the secret is in use until after now', { notAfter: at(1) }),
    refused(recipe, 'the secret ended at this very second', { notAfter: at(0) }),
    refused(recipe, 'the secret has ended', { notAfter: at(-86_400) }),
    refused(recipe, 'signed with another secret', { headers: signedLines(recipe, { secret: 'another_secret' }) }),
    refused(recipe, 'signed with the empty key', { headers: signedLines(recipe, { secret: '' }) }),
    refused(recipe, 'signed with the secret and a line feed behind it', {
      headers: signedLines(recipe, { secret: `${recipe.secret}\n` }),
    }),
    refused(recipe, 'signed with the secret in upper case', {
      headers: signedLines(recipe, { secret: recipe.secret.toUpperCase() }),
    }),
    ...foreignTexts(recipe).map(([why, text]) => refused(recipe, why, { headers: signedLines(recipe, { text }) })),
    ...FOREIGN.filter(({ header }) => header !== recipe.header.toLowerCase()).map(({ scheme, header, prefix }) =>
      refused(recipe, `signed as ${scheme} signs`, {
        headers: [[header, `${prefix}${macOf(recipe, { text: [BODY] }).toString('hex')}`]],
      }),
    ),
  ]
}

/** Where other providers put a signature of the body under the same secret. */
const FOREIGN = [
  { scheme: 'GitHub', header: 'x-hub-signature-256', prefix: 'sha256=' },
  { scheme: 'Lemon Squeezy', header: 'x-signature', prefix: '' },
]

function foreignTexts(recipe: Recipe): [why: string, text: (string | Buffer)[]][] {
  const time = String(NOW)
  const own = Buffer.concat(recipe.text(BODY, time).map((part) => Buffer.from(part)))
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
