/** Replaces an answer that cannot be read, or is not stored yet. It names no customer, and is erased like any other. */
export const UNREADABLE_ANSWER = ''

// Still valid against the order schema, which requires a customer.
const ERASED = 'erased'

/** The customer named in a stored idempotency answer, or null. */
export function customerOf(answer: string): string | null {
  const { customerId } = parse(answer)
  return typeof customerId === 'string' && customerId !== ERASED ? customerId : null
}

/** A stored idempotency answer without personal data, still valid against the order schema. */
export function withoutPerson(answer: string): string {
  const { email: _, note: __, metadata: ___, ...order } = parse(answer)
  return JSON.stringify({ ...order, customerId: ERASED })
}

function parse(answer: string): Readonly<Record<string, unknown>> {
  const order = parseJson(answer)
  return typeof order === 'object' && order !== null ? { ...order } : {}
}

// Something else may have written what is no JSON.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
