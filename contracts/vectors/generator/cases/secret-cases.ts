import { accepted, type Recipe, refused } from '../recipe.ts'
import { NOW, type Vector } from '../vector.ts'

/** The end of a secret: deliveries before it, and from that very second on. */
export function secretCases(recipe: Recipe): Vector[] {
  const at = (seconds: number): string => new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
  return [
    accepted(recipe, 'the secret is in use until after now', { notAfter: at(1) }),
    refused(recipe, 'the secret ended at this very second', { notAfter: at(0) }),
    refused(recipe, 'the secret has ended', { notAfter: at(-86_400) }),
  ]
}
