import type { GeneratedFile } from '../../../scripts/generate/generated-files.ts'
import { bodyCases } from './cases/body-cases.ts'
import { headerCases } from './cases/header-cases.ts'
import { keyCases } from './cases/key-cases.ts'
import { signatureCases } from './cases/signature-cases.ts'
import { timeCases } from './cases/time-cases.ts'
import { accepted, type Recipe, signatureOf } from './recipe.ts'
import { RECIPES } from './recipes.ts'
import { adyenVectors } from './schemes/adyen-vectors.ts'
import { fusionauthVectors } from './schemes/fusionauth-vectors.ts'
import { mollieClassicVectors } from './schemes/mollie-classic-vectors.ts'
import { paypalVectors } from './schemes/paypal-vectors.ts'
import { flutterwaveVectors, gitlabTokenVectors } from './schemes/static-token-vectors.ts'
import type { Vector } from './vector.ts'

const ABOUT =
  'Deliveries and the expected result of their verification. secret: as the provider shows it; empty if there is none. notAfter: when it expired, if it did. now: the time of verification, in seconds since 1970; the tolerance is 300 s unless the settings differ. headers: lines in the order sent, one character per byte (ISO 8859-1). query: of the request target, without the question mark. body: base64 of the bytes. Accepted deliveries whose why begins with "signed as" have only headers that are signed or carry the signature.'

/** The vectors of a recipe: the delivery that others have signed too, every negative class, and its own ones. */
function vectorsOf(recipe: Recipe): Vector[] {
  const { independent } = recipe
  if (independent !== null && signatureOf(recipe) !== independent)
    throw new Error(`${recipe.scheme}: not what others have signed`)
  return [
    accepted(recipe, 'signed as the provider signs'),
    ...(recipe.own?.(recipe) ?? []),
    ...headerCases(recipe),
    ...signatureCases(recipe),
    ...keyCases(recipe),
    ...timeCases(recipe),
    ...bodyCases(recipe),
  ]
}

/** The function that makes the vectors of each scheme. */
const MAKERS: readonly (readonly [scheme: string, make: () => readonly Vector[]])[] = [
  ...RECIPES.map((recipe) => [recipe.scheme, () => vectorsOf(recipe)] as const),
  ['adyen', adyenVectors],
  ['flutterwave', flutterwaveVectors],
  ['fusionauth', fusionauthVectors],
  ['gitlab', gitlabTokenVectors],
  ['mollie-classic', mollieClassicVectors],
  ['paypal', paypalVectors],
]

/** The files of `contracts/vectors`, every one made by rule. */
export function vectorFiles(): GeneratedFile[] {
  return [...Map.groupBy(MAKERS, ([scheme]) => scheme)].map(([scheme, makers]) => ({
    path: `contracts/vectors/${scheme}.json`,
    content: async () =>
      fileOf(
        scheme,
        makers.flatMap(([, make]) => make()),
      ),
  }))
}

/** One delivery per line, so that a changed delivery shows as one changed line. */
function fileOf(scheme: string, vectors: readonly Vector[]): string {
  const lines = vectors.map((vector) => `    ${JSON.stringify(vector)}`)
  const head = `  "scheme": ${JSON.stringify(scheme)},\n  "about": ${JSON.stringify(ABOUT)},\n  "cases": [`
  return `{\n${head}\n${lines.join(',\n')}\n  ]\n}\n`
}
