import type { HandlerEvent } from './handler-event.ts'
import type { WriteLog } from './handler-log.ts'
import type { Store } from './store.ts'
import { type CheckedTrpc, checkTrpcOptions, type TrpcOptions } from './trpc/trpc-options.ts'

/** A secret of Standard Webhooks and its expiry. */
export interface HandlerSecret {
  /** Default: its position. */
  readonly id?: string
  /** `whsec_` and a key in base64, or `whpk_` and an Ed25519 public key in base64. */
  readonly value: string
  /** The secret is no longer accepted from this time. Default: it does not expire. */
  readonly notAfter?: Date
}

/**
 * Acts on an event inside a transaction. When it resolves, the transaction is committed. When it rejects, nothing of it
 * remains, and the sender delivers again.
 */
export type EventFunction<Tx> = (event: HandlerEvent, tx: Tx) => unknown

/** A message of `tx.later` that is due. */
export interface LaterMessage {
  /** The same at every attempt: pass it on as the idempotency key of what you call. */
  readonly key: string
  readonly payload: unknown
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Is aborted when the time of the attempt is over, or the handler closes. */
  readonly signal: AbortSignal
}

/** Sends a message. When it rejects, it is called again later, until the attempts are used up. */
export type LaterFunction = (message: LaterMessage) => unknown

/** The limits of messages. */
export interface LaterLimits {
  /** How often a message is tried before it is dead. Default: 12. */
  readonly attempts?: number
  /** The longest time of one attempt. Default: 30,000. */
  readonly timeoutMs?: number
  /** How many messages one process sends at a time. Default: 8. */
  readonly concurrency?: number
  /** How often the database is asked for messages that are due. Default: 1,000. */
  readonly pollMs?: number
  /** The wait after the first failure is random, up to this time; each further failure doubles it. Default: 1,000. */
  readonly retryBaseMs?: number
  /** The longest wait. Default: 3,600,000. */
  readonly retryCapMs?: number
}

/** The options of a handler. `Tx` is the transaction of its store. */
export interface HandlerOptions<Tx> {
  /**
   * The name of your service: 1 to 100 letters, digits, or . - _. Processes with the same name share their keys: each event has its
   * effect once for each name. Do not change it: the keys and messages of the old name would be forgotten.
   */
  readonly name: string
  readonly store: Store<Tx>
  /**
   * Up to three secrets of Standard Webhooks, so that an old and a new one can be valid at the same time. Required, except
   * with `trpc`: without secrets, the handler answers only calls by `trpc`.
   */
  readonly secrets?: string | readonly (string | HandlerSecret)[]
  /** Calls of Oncehook's gateway by `trpc`, in batches. Default: none are answered. */
  readonly trpc?: TrpcOptions
  /** The functions by type of event: `customer.subscription.deleted`, `customer.subscription.*`, or `*`. */
  readonly on: Readonly<Record<string, EventFunction<Tx>>>
  /** The functions for messages of `tx.later`, by name. */
  readonly later?: Readonly<Record<string, LaterFunction>>
  /** What happens to an event without a function: `record` answers 200, `refuse` answers 422. Default: `record`. */
  readonly unhandled?: 'record' | 'refuse'
  /** The path that `listen` serves. Default: `/webhooks`. */
  readonly path?: string
  /** The largest body, in bytes. Default: 1,572,864, for the largest task of a gateway with default settings. */
  readonly maxBytes?: number
  /** The memory for all bodies in progress, in bytes: a body that has no room gets 503. Default: 67,108,864. */
  readonly mostBodyBytes?: number
  /** The longest time for receiving a body. Default: 10,000. */
  readonly bodyTimeoutMs?: number
  /** The longest time of a function. Keep it three seconds below that of your sender. Default: 6,000. */
  readonly timeoutMs?: number
  /** How long a delivery waits for a free slot, and for another delivery of the same event. Default: 5,000. */
  readonly waitMs?: number
  /** How many functions run at a time. Keep it below the size of the pool. Default: 8. */
  readonly concurrency?: number
  /** How many deliveries may wait for a free slot. Default: 200. */
  readonly mostWaiting?: number
  /** How long keys are kept. It must be longer than the sender delivers again. Default: 100, at least 7. */
  readonly keepKeysDays?: number
  /** How far the signed time may differ from now. Default: 300. */
  readonly toleranceSeconds?: number
  readonly laterLimits?: LaterLimits
  /** Default: warnings and errors go to standard error as JSON lines. */
  readonly log?: WriteLog
}

/** The options of a handler are wrong. Each problem names a property and never contains a secret. */
export class HandlerSettingsError extends Error {
  override readonly name = 'HandlerSettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The handler cannot be created: ${problems.join('; ')}`)
    this.problems = problems
  }
}

/** @internal */
export type HandlerLimits = Readonly<Record<keyof typeof LIMITS, number>>

/**
 * The default, the least and the most of each number.
 * @internal
 */
const LIMITS = {
  // A gateway accepts bodies of 1 MiB. A body that is not JSON grows by a third, because it is sent as base64.
  maxBytes: [1_572_864, 1, 16_000_000],
  mostBodyBytes: [67_108_864, 1, 16_000_000_000],
  bodyTimeoutMs: [10_000, 100, 600_000],
  timeoutMs: [6_000, 10, 600_000],
  waitMs: [5_000, 1, 600_000],
  concurrency: [8, 1, 10_000],
  mostWaiting: [200, 0, 1_000_000],
  keepKeysDays: [100, 7, 3_650],
} as const

const LATER_LIMITS = {
  attempts: [12, 1, 1_000],
  timeoutMs: [30_000, 10, 3_600_000],
  concurrency: [8, 1, 10_000],
  pollMs: [1_000, 10, 600_000],
  retryBaseMs: [1_000, 1, 3_600_000],
  retryCapMs: [3_600_000, 1, 86_400_000],
} as const

/**
 * The checked options that are not passed on as they are.
 * @internal
 */
export interface CheckedOptions {
  readonly name: string
  readonly path: string
  readonly limits: HandlerLimits
  readonly later: Required<LaterLimits>
  /** Null: there are no calls by `trpc`. */
  readonly trpc: CheckedTrpc | null
}

/**
 * Checks the options of a handler, and adds the defaults. `now` in milliseconds since 1970.
 * @throws HandlerSettingsError with every problem
 * @internal
 */
export function checkOptions(options: HandlerOptions<never>, now: () => number): CheckedOptions {
  const { name, path = '/webhooks', on, later = {}, laterLimits = {} } = options
  const limits = readNumbers<keyof HandlerLimits>(LIMITS, options, '')
  const { trpc: asked = null } = options
  const trpc =
    asked === null ? null : checkTrpcOptions(asked, { name, now, path, mostBodyBytes: limits.values.mostBodyBytes })
  const ofLater = readNumbers(LATER_LIMITS, laterLimits, 'laterLimits.')
  const problems = [
    ...(typeof name === 'string' && /^[\w.-]{1,100}$/.test(name) ? [] : [BAD_NAME]),
    ...(/^\/[^?#\s]*$/.test(path) && !PROBES.has(path)
      ? []
      : ['path must start with / and must not be one of a probe']),
    ...functionProblems('on', on),
    ...functionProblems('later', later),
    ...Object.keys(on).flatMap((type) =>
      isTypePattern(type) ? [] : [`on: "${type}" is neither a type nor a pattern`],
    ),
    ...limits.problems,
    ...(limits.values.mostBodyBytes < limits.values.maxBytes ? ['mostBodyBytes must be at least maxBytes'] : []),
    ...ofLater.problems,
    ...(isProblems(trpc) ? trpc : []),
  ]
  if (problems.length > 0 || isProblems(trpc)) throw new HandlerSettingsError(problems)
  return { name, path, limits: limits.values, later: ofLater.values, trpc }
}

function isProblems(checked: CheckedTrpc | readonly string[] | null): checked is readonly string[] {
  return Array.isArray(checked)
}

// A colon would make the keys of two messages equal: those of `a:b` and `c`, and of `a` and `b:c`.
const BAD_NAME = 'name must be 1 to 100 letters, digits, or . - _'

/** The paths that `listen` serves besides that of the options. */
const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz', '/metrics'])

function functionProblems(property: string, functions: Readonly<Record<string, unknown>>): readonly string[] {
  const wrong = Object.entries(functions).filter(([, value]) => typeof value !== 'function')
  return wrong.map(([name]) => `${property}: "${name}" is not a function`)
}

type Ranges<Name extends string> = Readonly<Record<Name, readonly [initial: number, least: number, most: number]>>

function readNumbers<Name extends string>(
  ranges: Ranges<Name>,
  given: Readonly<Partial<Record<Name, number>>>,
  prefix: string,
): { readonly values: Record<Name, number>; readonly problems: readonly string[] } {
  const names = Object.keys(ranges) as Name[]
  const values = Object.fromEntries(names.map((name) => [name, given[name] ?? ranges[name][0]])) as Record<Name, number>
  const wrong = names.filter((name) => {
    const [, least, most] = ranges[name]
    return !(Number.isSafeInteger(values[name]) && values[name] >= least && values[name] <= most)
  })
  const problems = wrong.map(
    (name) => `${prefix}${name} must be a whole number from ${ranges[name][1]} to ${ranges[name][2]}`,
  )
  return { values, problems }
}

/** Returns the function for a type of event; undefined if there is none. */
export type FindFunction<Function> = (type: string) => Function | undefined

/** Whether a text is a type or a pattern: `a.b`, `a.*` for every type below `a`, or `*` for all. */
function isTypePattern(text: string): boolean {
  return /^(?:\*|[^*]+(?<=\.)\*|[^*]+)$/.test(text)
}

/** Prepares the search for the function of a type. The exact type comes first, then the longest pattern. */
export function findFunctions<Function>(on: Readonly<Record<string, Function>>): FindFunction<Function> {
  const exact = new Map(Object.entries(on))
  const patterns = Object.entries(on)
    .filter(([pattern]) => pattern.endsWith('*'))
    .map(([pattern, found]) => ({ start: pattern.slice(0, -1), found }))
    .toSorted((one, other) => other.start.length - one.start.length)
  return (type) => exact.get(type) ?? patterns.find(({ start }) => type.startsWith(start))?.found
}
