// Still an order by its schema, which demands a customer.
const ERASED = 'erased'

/** The customer whom the answer of an idempotency key names; null where it names none. */
export function customerOf(answer: string): string | null {
  const { customerId } = parse(answer)
  return typeof customerId === 'string' && customerId !== ERASED ? customerId : null
}

/** The answer of a key without what names a person, still an order by its schema. */
export function withoutPerson(answer: string): string {
  const { email: _, note: __, metadata: ___, ...order } = parse(answer)
  return JSON.stringify({ ...order, customerId: ERASED })
}

function parse(answer: string): Readonly<Record<string, unknown>> {
  const order: unknown = JSON.parse(answer)
  return typeof order === 'object' && order !== null ? { ...order } : {}
}
