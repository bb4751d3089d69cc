import { secretProblem } from '@oncehook/kernel/secrets/secret'

/** Why a text cannot be a provider's secret, as a clause; null if it can. A known prefix alone adds nothing to a secret. */
export function secretTextProblem(text: string): string | null {
  return secretProblem(text, 1) ?? secretProblem(text.replace(/^whsec_/, ''), 1)
}
