import { hash } from 'node:crypto'
import { secretProblem } from '@oncehook/kernel/secrets/secret'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { readTextSource, type TextSources, textSource } from '@oncehook/kernel/settings/text-source'
import { z } from 'zod'

const MIN_TOKEN_LENGTH = 32

/** The holder of a token: the holder's name, the token's expiry, and the holder's rights. */
export interface TokenHolder<Grant> {
  readonly name: string
  /** Milliseconds since 1970; null if the token does not expire. */
  readonly notAfter: number | null
  readonly grant: Grant
}

/** The SHA-256 of a token, in hexadecimal -> its holder. The tokens themselves are not kept. */
export type TokenHolders<Grant> = ReadonlyMap<string, TokenHolder<Grant>>

/** A right of a client of `/api/orders`. */
export type Scope = (typeof SCOPES)[number]

/** All scopes: reading, writing and deleting orders. */
const SCOPES = ['orders:read', 'orders:write', 'orders:delete'] as const

/** The rights of a principal of `/api/orders`. With `own` it can use only the orders that it has created. */
export interface ApiGrant {
  readonly scopes: ReadonlySet<Scope>
  readonly own: boolean
}

/** A right of an operator. */
export type Role = (typeof ROLES)[number]

/** All roles: to read, to make changes, and to see the bodies of deliveries. */
export const ROLES = ['read', 'operate', 'bodies'] as const

/** The roles of an operator. `operate` and `bodies` include `read`. */
export interface OperatorGrant {
  readonly roles: ReadonlySet<Role>
}

/** A kind of token: how an entry lists its rights, and the rights of a plain token. */
export interface TokenKind<Rights extends z.ZodRawShape, Grant> {
  readonly rights: Rights
  readonly toGrant: (rights: z.output<z.ZodObject<Rights>>) => Grant
  /** The valid forms of an entry, for the message. */
  readonly form: string
  readonly all: Grant
}

const API_RIGHTS = { scopes: z.array(z.enum(SCOPES)), own: z.boolean().default(false) }
const OPERATOR_RIGHTS = { roles: z.array(z.enum(ROLES)) }

/** The entries of `API_TOKENS`. */
export const API_TOKEN_KIND: TokenKind<typeof API_RIGHTS, ApiGrant> = {
  rights: API_RIGHTS,
  toGrant: ({ scopes, own }) => ({ scopes: new Set(scopes), own }),
  form: `a token, or {"tokens": [{"value", "notAfter"?}], "scopes": [${SCOPES.map((scope) => `"${scope}"`).join(', ')}], "own"?: true}`,
  all: { scopes: new Set(SCOPES), own: false },
}

/** The entries of `OPERATOR_TOKENS`. */
export const OPERATOR_TOKEN_KIND: TokenKind<typeof OPERATOR_RIGHTS, OperatorGrant> = {
  rights: OPERATOR_RIGHTS,
  toGrant: ({ roles }) => ({ roles: withRead(roles) }),
  form: `a token, or {"tokens": [{"value", "notAfter"?}], "roles": [${ROLES.map((role) => `"${role}"`).join(', ')}]}`,
  all: { roles: new Set(ROLES) },
}

/** Adds the included roles: every role includes `read`. */
export function withRead(roles: readonly Role[]): ReadonlySet<Role> {
  return new Set(roles.length === 0 ? [] : ['read', ...roles])
}

const MAX_TOKENS = 10
const NAME = z.string().min(1).max(64)
const notAfter = z.iso.datetime({ offset: true }).transform((value) => Date.parse(value))
const tokenSchema = z.strictObject({ value: textSource, notAfter: notAfter.optional() })

/** A token setting: its name, its JSON text, and the readers of the variables and files that it names. */
export interface TokenSetting {
  readonly name: string
  readonly json: string
  readonly sources: TextSources
}

/**
 * Reads a token setting (JSON: name -> token, or name -> tokens with rights).
 * @throws SettingsError with every problem; no problem quotes a token
 */
export function readTokenHolders<Rights extends z.ZodRawShape, Grant>(
  setting: TokenSetting,
  kind: TokenKind<Rights, Grant>,
): TokenHolders<Grant> {
  const problems = new Set<string>()
  const holders = new Map<string, TokenHolder<Grant>>()
  for (const [name, entry] of entriesOf(setting)) {
    const read = readEntry(entry, kind)
    if (read === null) {
      problems.add(`has an entry for ${name} that is not ${kind.form}`)
      continue
    }
    for (const { value, notAfter: end = null } of read.tokens) {
      const token = readTextSource(value, setting.sources)
      const problem = problemOf(token)
      if (problem !== null) problems.add(`has a token of ${name} that ${problem}`)
      const digest = digestOf(token)
      const other = holders.get(digest)
      if (other !== undefined) problems.add(`has the same token for ${other.name} and ${name}`)
      holders.set(digest, { name, notAfter: end, grant: read.grant })
    }
  }
  if (problems.size > 0) throw new SettingsError(Array.from(problems, (problem) => `${setting.name} ${problem}`))
  return holders
}

function digestOf(token: string | null): string {
  return hash('sha256', token ?? '')
}

function problemOf(token: string | null): string | null {
  return token === null ? 'cannot be read' : secretProblem(token, MIN_TOKEN_LENGTH)
}

function entriesOf({ name, json }: TokenSetting): [string, unknown][] {
  const { data } = z.record(NAME, z.union([z.string(), z.looseObject({})])).safeParse(parseSettingsJson(name, json))
  if (data === undefined) throw new SettingsError([`${name} must be a JSON object of names and tokens`])
  return Object.entries(data)
}

interface Entry<Grant> {
  readonly tokens: readonly z.output<typeof tokenSchema>[]
  readonly grant: Grant
}

function readEntry<Rights extends z.ZodRawShape, Grant>(
  entry: unknown,
  { rights, toGrant, all }: TokenKind<Rights, Grant>,
): Entry<Grant> | null {
  const plain = textSource.safeParse(entry)
  if (plain.success) return { tokens: [{ value: plain.data }], grant: all }
  const tokens = z.object({ tokens: z.array(tokenSchema).min(1).max(MAX_TOKENS) }).safeParse(entry)
  const { tokens: _, ...rest } = entry as Record<string, unknown>
  const granted = z.strictObject(rights).safeParse(rest)
  if (!tokens.success || !granted.success) return null
  return { tokens: tokens.data.tokens, grant: toGrant(granted.data) }
}
