import { hash } from 'node:crypto'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import { secretProblem } from '@oncehook/kernel/secrets/secret'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { readTextSource, type TextSources, textSource } from '@oncehook/kernel/settings/text-source'
import { z } from 'zod'
import { type Addressed, clientAddress } from './client-address.ts'
import type { RateLimit } from './rate-limit.ts'

const MIN_TOKEN_LENGTH = 32

/** The holder of a token: the holder's name, the token's expiry, and the holder's rights. */
interface TokenHolder<Grant> {
  readonly name: string
  /** Milliseconds since 1970; null if the token does not expire. */
  readonly notAfter: number | null
  readonly grant: Grant
}

/** The SHA-256 of a token, in hexadecimal -> its holder. The tokens themselves are not kept. */
export type TokenHolders<Grant> = ReadonlyMap<string, TokenHolder<Grant>>

export type Scope = (typeof SCOPES)[number]

const SCOPES = ['orders:read', 'orders:write', 'orders:delete'] as const

/** The rights of a principal of `/api/orders`. With `own` it can use only the orders that it has created. */
export interface ApiGrant {
  readonly scopes: ReadonlySet<Scope>
  readonly own: boolean
}

export type Role = (typeof ROLES)[number]

/** All roles: to read, to make changes, to see the bodies of deliveries, and to change what orders cost. */
export const ROLES = ['read', 'operate', 'bodies', 'orders'] as const

/** The roles of an operator. Every other role includes `read`, and none another one. */
export interface OperatorGrant {
  readonly roles: ReadonlySet<Role>
}

/** A kind of token: how an entry lists its rights, and the rights of a plain token. */
interface TokenKind<Rights extends z.ZodRawShape, Grant> {
  readonly rights: Rights
  readonly toGrant: (rights: z.output<z.ZodObject<Rights>>) => Grant
  /** The valid forms of an entry, for the message. */
  readonly form: string
  readonly all: Grant
}

const API_RIGHTS = { scopes: z.array(z.enum(SCOPES)), own: z.boolean().default(false) }
const OPERATOR_RIGHTS = { roles: z.array(z.enum(ROLES)) }

export const API_TOKEN_KIND: TokenKind<typeof API_RIGHTS, ApiGrant> = {
  rights: API_RIGHTS,
  toGrant: ({ scopes, own }) => ({ scopes: new Set(scopes), own }),
  form: `a token, or {"tokens": [{"value", "notAfter"?}], "scopes": [${SCOPES.map((scope) => `"${scope}"`).join(', ')}], "own"?: true}`,
  all: { scopes: new Set(SCOPES), own: false },
}

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
      const { digest, problem } = readToken(value, setting, name)
      if (problem !== null) problems.add(`has a token of ${name} that ${problem}`)
      const other = holders.get(digest)
      if (other !== undefined) problems.add(`has the same token for ${other.name} and ${name}`)
      holders.set(digest, { name, notAfter: end, grant: read.grant })
    }
  }
  if (problems.size > 0) throw new SettingsError(Array.from(problems, (problem) => `${setting.name} ${problem}`))
  return holders
}

/** The hash of a token, and what is wrong with it. */
function readToken(value: z.output<typeof textSource>, { name, sources }: TokenSetting, holder: string) {
  const token = readTextSource(value, sources)
  const problem = token === null ? 'cannot be read' : secretProblem(token, MIN_TOKEN_LENGTH)
  if (token !== null && problem === null) sources.onSecret?.(`${name}.${holder}`, token)
  return { digest: hash('sha256', token ?? ''), problem }
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

/** The challenge of a 401: how to authenticate (RFC 6750 section 3). */
export const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer' } }

/**
 * Finds the holder of a request's bearer token (RFC 6750). Tokens are looked up by their hash, so that neither a comparison
 * nor the memory reveals anything about them.
 * @throws unauthenticated, the same for every reason; the reason is in the details, for the log
 */
export function holderOf<Grant>(
  authorization: string | undefined,
  { holders, now }: { readonly holders: TokenHolders<Grant>; readonly now: number },
): TokenHolder<Grant> {
  const token = bearerToken(authorization)
  if (token === null) throw unauthenticated({ reason: 'missing' }, CHALLENGE)
  const holder = holders.get(hash('sha256', token))
  if (holder === undefined) throw unauthenticated({ reason: 'unknown' }, CHALLENGE)
  if (holder.notAfter !== null && holder.notAfter <= now) {
    throw unauthenticated({ reason: 'expired', principal: holder.name }, CHALLENGE)
  }
  return holder
}

/** The bearer token (RFC 6750) in an `Authorization` header; null if there is none. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? null
}

/** Counts and limits failed authentication by address. */
export type FailedLogins = ReturnType<typeof createFailedLogins>

// Addresses beyond this number share a line in the same second.
const MAX_LINES = 100
const SUMMARY_MS = 1_000

/**
 * Creates the record of failed authentication. An address over its limit gets one log line per second
 * (`authentication.failing`), with the number of its failures. A valid token is always accepted: an attacker behind the
 * same address must not lock out its holder.
 */
export function createFailedLogins(deps: {
  /** Which API it is, for the log and the metric. */
  api: 'orders' | 'operator'
  limit: RateLimit
  trustedProxyHops: number
  logger: Logger
  count: (api: string, reason: string) => void
}) {
  const { api, limit, trustedProxyHops, logger, count } = deps
  const summarised = new WeakSet<object>()
  const failures = new Map<string, number>()
  const write = (): void => {
    for (const [address, times] of failures) logger.warn({ api, address, times }, 'authentication.failing')
    failures.clear()
  }
  const add = (address: string): void => {
    if (failures.size === 0) setTimeout(write, SUMMARY_MS).unref()
    const key = failures.has(address) || failures.size < MAX_LINES ? address : 'others'
    failures.set(key, (failures.get(key) ?? 0) + 1)
  }
  return {
    /**
     * Counts a failure, and returns the error to send. It is the given one, with the address for the log line. If the
     * address is over its limit, it is `rate_limited`, which gets no log line.
     */
    refuse(request: Addressed, error: AppError): AppError {
      const address = clientAddress(request, trustedProxyHops)
      count(api, String(error.details.reason ?? error.code))
      const allowance = limit.count(address)
      if (allowance.remaining >= 0) return error.with({ details: { address } })
      add(address)
      const refusal = limit.refusal(allowance)
      summarised.add(refusal)
      return refusal
    },
    /** Whether an error is part of a summary. It then has no separate log line. */
    isSummarised: (error: unknown): boolean => typeof error === 'object' && error !== null && summarised.has(error),
  }
}
