import { methodNotAllowed } from '@oncehook/kernel/http/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/rpc/trpc-errors'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Pauses } from '@oncehook/queue/pauses'
import { initTRPC } from '@trpc/server'
import { type Db, MongoServerError } from 'mongodb'
import { roleMissing, searchTooWide } from '../errors.ts'
import type { Handlers } from '../handlers/handler-settings.ts'
import type { Role } from '../http/authentication.ts'
import type { FulfilmentClient } from '../http/fulfilment-client.ts'
import type { Retention } from '../inbox/retention/retention.ts'
import type { Providers } from '../webhooks/providers/providers.ts'
import type { Operator } from './access/identify-operator.ts'
import type { AuditEntry, OperatorAudit } from './audit/audit.ts'
import type { Replays } from './replays/replays.ts'
import type { SignIns } from './sign-in/sign-ins.ts'
import type { TestEvents } from './test-events/test-events.ts'
import type { TakeTurn } from './turns.ts'

export interface OperatorParts {
  readonly db: Db
  readonly encryption: Encryption
  readonly keyRegister: KeyRegister
  readonly replays: Replays
  readonly signIns: SignIns
  readonly pauses: Pauses
  /** The current handlers. Null: the setting is not set. */
  readonly handlers: (() => Handlers) | null
  /** Whether a handler answers the calls of this process. Null: the process does not call it. */
  readonly isHandlerUp: (handler: string) => boolean | null
  readonly handlerPauses: Pauses
  readonly testEvents: TestEvents
  readonly providers: () => Providers
  /** What is wrong with the newest settings of the providers, without a value. Empty: they are in use. */
  readonly refusedProviders: () => readonly string[]
  /** Fetches the certificates that a check needs. */
  readonly fetch: typeof globalThis.fetch
  readonly retention: Retention
  readonly fulfilment: FulfilmentClient
  readonly clock: Clock
  /** Measures intervals: the clock may be set back meanwhile. */
  readonly monotonicMs: () => number
  readonly logger: Logger
  /** Runs what an operator asks for, a few at a time. */
  readonly takeTurn: TakeTurn
}

/** One call: the dependencies, the operator that the token belongs to, and what this operator may do. */
export interface OperatorContext extends OperatorParts {
  readonly operator: string
  readonly roles: ReadonlySet<Role>
  /** The token or session that was sent: whose it is, when it ends, and what the issuer states. */
  readonly caller: Operator
  readonly audit: OperatorAudit
  /** The subject of a call, for its log line, and headers for its answer. */
  readonly call: { about?: Readonly<Record<string, unknown>>; headers?: Record<string, string> }
  readonly requestId: string
  /** Whether the input of the call is in its URL. */
  readonly isInUrl: boolean
}

const t = initTRPC.context<OperatorContext>().create({ isDev: false, errorFormatter: formatTrpcError })

export const router = t.router

/** Milliseconds that an operator's search may take in the database. */
export const SEARCH_MS = 5_000

export function demandRole({ roles }: Pick<OperatorContext, 'roles'>, role: Role): void {
  if (!roles.has(role)) throw roleMissing({ role }, { message: `The token does not have the role ${role}` })
}

/** Throws if a text that can name a person is in a URL, which browsers, proxies and their logs keep. */
export function demandPost({ isInUrl }: Pick<OperatorContext, 'isInUrl'>): void {
  if (!isInUrl) return
  throw methodNotAllowed(
    {},
    { headers: { Allow: 'POST' }, message: 'A text that can name a person is sent by POST only' },
  )
}

const ABOUT = ['id', 'replayId', 'key', 'provider'] as const
const PLAIN = /^[\w.:~-]{1,255}$/

/** The names in the input of a call, if they are plain text. */
function aboutOf(input: unknown): Readonly<Record<string, unknown>> {
  if (typeof input !== 'object' || input === null) return {}
  const given = input as Readonly<Record<string, unknown>>
  const isPlain = (value: unknown): boolean => typeof value === 'string' && PLAIN.test(value)
  const named = ABOUT.filter((name) => isPlain(given[name])).map((name) => [name, given[name]])
  const ids = Array.isArray(given.ids) ? { ids: given.ids.filter(isPlain).slice(0, 20), count: given.ids.length } : {}
  return { ...Object.fromEntries(named), ...ids, ...(given.body === true ? { withBody: true } : {}) }
}

/**
 * The base of the procedures for everybody with a token, even without a role: who the caller is, and the end of the caller's
 * session. They write nothing else. Catalogue errors keep their status. An unavailable database is 503, and so is a missing
 * index. The log gets the subject of the call.
 */
export const identifiedProcedure = t.procedure.use(async ({ next, ctx, getRawInput }) => {
  ctx.call.about = aboutOf(await getRawInput())
  const result = await next()
  if (result.ok) return result
  const known = toKnownError(result.error.cause)
  if (known !== null) throw toTrpcError(known)
  return result
})

/**
 * The base of all other procedures. They need the role `read`, which every other role includes. What an operator looks at does
 * not wait behind what the same operator changes, nor the other way round.
 */
export const procedure = identifiedProcedure.use(({ next, ctx, type }) => {
  demandRole(ctx, 'read')
  return ctx.takeTurn(`${type} ${ctx.operator}`, next)
})

/** The base of procedures that change something. They need the role `operate`. */
export const changingProcedure = procedure.use(({ next, ctx }) => {
  demandRole(ctx, 'operate')
  return next()
})

/**
 * Records an action in the audit log, then takes it: after a crash in between, nothing was done without an entry. If it fails, a
 * second entry says that it was refused, or that there was no answer and nobody knows whether it was done.
 */
export async function recordFirst<Done>(
  { audit, operator: by }: Pick<OperatorContext, 'audit' | 'operator'>,
  entry: Pick<AuditEntry, 'action' | 'reason' | 'details'>,
  act: () => Promise<Done>,
): Promise<Done> {
  await audit.record({ ...entry, by })
  try {
    return await act()
  } catch (error) {
    const { code, status } = toAppError(error)
    const end = { [status < 500 ? 'refused' : 'unanswered']: code }
    await audit.record({ ...entry, by, details: { ...entry.details, ...end } })
    throw error
  }
}

/**
 * Records a change in the audit log, then makes it: after a crash in between, nothing was changed without an entry. A refused
 * one adds an entry too: `isPossible` is what was read before, and `change` resolves to what it changed, or to false.
 * @throws the refusal
 */
export async function recordChange<Changed extends object | true>(
  { audit, operator: by }: Pick<OperatorContext, 'audit' | 'operator'>,
  entry: Pick<AuditEntry, 'action' | 'reason' | 'details'>,
  {
    isPossible,
    change,
    refusal,
  }: { isPossible: boolean; change: () => Promise<Changed | false>; refusal: () => AppError },
): Promise<Changed> {
  if (isPossible) await audit.record({ ...entry, by })
  const changed = isPossible && (await change())
  if (changed !== false) return changed
  const error = refusal()
  await audit.record({ ...entry, by, details: { ...entry.details, refused: error.code } })
  throw error
}

const MAX_TIME_EXPIRED = 50

/** Whether the database aborted a search because it took too long. */
export function hasExpired(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED
}

function toKnownError(cause: unknown): AppError | null {
  if (cause instanceof AppError) return cause
  if (hasExpired(cause)) return searchTooWide({}, { cause })
  return toUnavailable(cause)
}
