import { z } from 'zod'

/** A secret as the schemas of the schemes read it. */
interface GivenSecret {
  readonly id: string
  readonly value: string
  /** ISO 8601, or the text of an invalid date, which the schema refuses. */
  readonly notAfter?: string
}

const LIST = 'must be text, or a list of texts and of objects'
const ITEM = 'must be text, or an object with value (text) and at most id (text) and notAfter (a Date)'

// Strict: a misspelt expiry would leave an old secret valid.
const named = z.strictObject({
  id: z.string().optional(),
  value: z.string(),
  notAfter: z.instanceof(Date).optional(),
})
const item = z.union([z.string().transform((value): z.output<typeof named> => ({ value })), named])
const list = z.array(item)

/** Reads the option `secrets` of a verifier, whatever a program without types passes. No problem quotes a value. */
export function readSecretOptions(given: unknown = []): {
  readonly secrets: readonly GivenSecret[]
  readonly problems: readonly string[]
} {
  const { data, error } = list.safeParse(typeof given === 'string' ? [given] : given)
  if (data === undefined) return { secrets: [], problems: error.issues.map(({ path }) => problemAt(path)) }
  return { secrets: data.map(toGiven), problems: [] }
}

function problemAt([index]: readonly PropertyKey[]): string {
  return index === undefined ? `secrets: ${LIST}` : `secrets.${String(index)}: ${ITEM}`
}

function toGiven({ id, value, notAfter }: z.output<typeof named>, index: number): GivenSecret {
  const end = Number.isNaN(notAfter?.getTime()) ? String(notAfter) : notAfter?.toISOString()
  return { id: id ?? String(index + 1), value, ...(end === undefined ? {} : { notAfter: end }) }
}
