/** One difference between an answer and the contract, in Pact's terms. */
interface Mismatch {
  readonly type: string
  readonly mismatch?: string
  readonly path?: string
  readonly key?: string
}

/** Pact's report of a failed verification. */
interface VerificationResult {
  readonly errors: readonly {
    readonly interaction: string
    readonly mismatch: { readonly mismatches?: readonly Mismatch[]; readonly message?: string }
  }[]
}

/**
 * Describes a failed verification. Each line names an interaction, how the answer differed, and the reason that the provider
 * gave. An error that is not the result of a verification becomes a single line.
 */
export function describeVerification(
  error: unknown,
  reasonOf: (interaction: string) => string | undefined = () => undefined,
): string[] {
  const message = error instanceof Error ? error.message : String(error)
  const result = readResult(message)
  if (result === null) return [`- ${message}`]
  return result.errors.map(({ interaction, mismatch }) => {
    const { mismatches = [], message: problem = 'the answer is another one' } = mismatch
    const what = mismatches.length === 0 ? problem : mismatches.map(sayMismatch).join('; ')
    const does = interaction.replace(/^Verifying a pact between .*? and \S+ (?:- )?/, '')
    const reason = reasonOf(does.replace(/^Given .*? - /, ''))
    return `- ${does}: ${what}${reason === undefined ? '' : ` (the provider: ${reason})`}`
  })
}

function readResult(message: string): VerificationResult | null {
  try {
    const result = JSON.parse(message) as Partial<VerificationResult> | null
    return Array.isArray(result?.errors) && result.errors.length > 0 ? (result as VerificationResult) : null
  } catch {
    return null
  }
}

function sayMismatch({ type, mismatch = 'differs', path, key }: Mismatch): string {
  if (type === 'StatusMismatch') return `status ${mismatch}`
  if (type === 'HeaderMismatch') return `header ${key ?? ''}: ${mismatch}`
  return path === undefined ? mismatch : `${path}: ${mismatch}`
}
