import { unavailable } from '@oncehook/kernel/http/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { backoffMs } from '@oncehook/kernel/time/waits'
import { isBrokenCall } from '../dispatch/broken-call.ts'
import { decideRetry, type RetryLimits } from '../dispatch/retry-policy.ts'
import type { Sent } from '../dispatch/sent.ts'
import type { Claim, SettledClaim, Settlement } from '../inbox/claims/claim.ts'
import type { ReadTask } from './read-tasks.ts'
import type { CallHandler, TaskAnswer, TaskEvent, TaskRefusal } from './task-event.ts'

export interface SendTasksDeps {
  readonly read: (claims: readonly Claim[]) => AsyncIterable<ReadTask>
  readonly call: CallHandler
  readonly limits: RetryLimits
  readonly random: () => number
  /** The longest time of a call, in milliseconds. */
  readonly callMs: number
  /** The time of the database's clock. */
  readonly databaseNow: () => number
  /** Whether a call may have several tasks. */
  readonly isBatched: boolean
  /** Whether test events are sent to handlers. */
  readonly sendsTests: boolean
}

// Bodies wait in memory until their call is answered.
const MOST_CHARACTERS = 2 * 1024 * 1024
// The least wait that a handler can choose. At first it lets a conflict be tried again almost at once.
const LEAST = { baseMs: 100, capMs: 60_000 }
// The tasks that a handler sent away at the same time do not all come back at the same time.
const SPREAD = 0.1
const LEAST_SPREAD_MS = 1_000

/** Sends claimed tasks to their handler, in as few calls as their size permits, and decides the result of each. Never throws. */
export async function sendTasks(deps: SendTasksDeps, claims: readonly Claim[]): Promise<Sent> {
  const run = new TaskRun(deps)
  const isTest = ({ test }: Claim): boolean => test === true && !deps.sendsTests
  for (const claim of claims.filter(isTest)) run.leaveUnhandled(claim)
  const open = claims.filter((claim) => !isTest(claim))
  try {
    for await (const task of run.read(open)) await run.add(task)
    await run.send()
    return run.end()
  } catch (error) {
    return run.fail(open, toAppError(error))
  }
}

/** The tasks of one batch on their way. */
class TaskRun {
  readonly #deps: SendTasksDeps
  readonly #settled: SettledClaim[] = []
  /** The tasks whose calls the handler was too busy for. */
  readonly #sentAway: SettledClaim[] = []
  #hasVerdict = false
  /** The tasks whose claims may end before a call ends that begins now: calls before theirs took long. */
  readonly #late: Claim[] = []
  #unread: { readonly claims: ReadonlySet<Claim>; readonly error: unknown } | null = null
  #waiting: { readonly claim: Claim; readonly task: TaskEvent }[] = []
  #characters = 0

  constructor(deps: SendTasksDeps) {
    this.#deps = deps
  }

  leaveUnhandled(claim: Claim): void {
    const attempt = { ms: 0, outcome: 'unhandled', code: null, message: null }
    this.#settled.push({ claim, settlement: { state: 'unhandled', reason: 'test' }, attempt })
  }

  /** The tasks of these claims, until the database fails to yield one. */
  async *read(claims: readonly Claim[]): AsyncGenerator<ReadTask> {
    const left = new Set(claims)
    try {
      for await (const task of this.#deps.read(claims)) {
        left.delete(task.claim)
        yield task
      }
    } catch (error) {
      this.#unread = { claims: left, error }
    }
  }

  async add({ claim, read }: ReadTask): Promise<void> {
    if ('refused' in read) {
      this.#settled.push(settle(this.#deps, { claim, answer: read, ms: 0 }))
      return
    }
    if (this.#waiting.length > 0 && this.#characters + read.json.length > MOST_CHARACTERS) await this.send()
    this.#waiting.push({ claim, task: read })
    this.#characters += read.json.length
  }

  /** Sends what waits. */
  async send(): Promise<void> {
    const endsAt = this.#deps.databaseNow() + this.#deps.callMs
    const { true: sent = [], false: late = [] } = Object.groupBy(
      this.#waiting,
      ({ claim }) => `${claim.endsAt >= endsAt}`,
    )
    this.#late.push(...late.map(({ claim }) => claim))
    this.#waiting = []
    this.#characters = 0
    if (sent.length === 0) return
    const startedAt = performance.now()
    const answers = await this.#deps.call(sent.map(({ task }) => task))
    const ms = Math.round(performance.now() - startedAt)
    for (const [index, { claim }] of sent.entries()) this.#take({ claim, answer: answers[index] ?? UNANSWERED, ms })
  }

  #take(answered: Answered): void {
    const settled = settle(this.#deps, answered)
    if ('isBusy' in answered.answer) this.#sentAway.push(settled)
    else {
      this.#hasVerdict = true
      this.#settled.push(settled)
    }
  }

  /** The result of the batch. If the handler was too busy for every call, its calls have failed. */
  end(): Sent {
    if (this.#hasVerdict || this.#sentAway.length === 0) {
      return this.#sent([...this.#settled, ...this.#sentAway], null)
    }
    return this.#sent(this.#settled, { error: unavailable({ reason: 'busy' }), putOff: this.#sentAway })
  }

  /**
   * The result of a batch of these claims, of which a call failed as a whole. A single task of a broken call is a failed attempt,
   * unless it was lost in a batch before: then it may be what breaks them.
   */
  fail(claims: readonly Claim[], error: AppError): Sent {
    const settled = this.#settled.map(({ claim }) => claim)
    const known = new Set([...settled, ...this.#late, ...(this.#unread?.claims ?? [])])
    const left = claims.filter((claim) => !known.has(claim))
    const isBroken = isBrokenCall(error)
    const [first] = left
    const isAttempt = left.length === 1 && !(this.#deps.isBatched && first !== undefined && first.lost > 0)
    const broke = isBroken && isAttempt ? undefined : isBroken
    return this.#sent(this.#settled, {
      error,
      putOff: left.map((claim) => putOff(this.#deps, claim, { error, broke })),
    })
  }

  #sent(settled: readonly SettledClaim[], failure: Sent['failure']): Sent {
    const unread = this.#unread && { error: this.#unread.error, claims: [...this.#unread.claims] }
    return { settled, hasVerdict: this.#hasVerdict, failure, late: this.#late, unread }
  }
}

const UNANSWERED: TaskRefusal = { refused: 'unavailable', retry: 'later', message: 'The handler gave no answer' }

interface Answered {
  readonly claim: Claim
  readonly answer: TaskAnswer
  readonly ms: number
}

function settle({ limits, random, databaseNow }: SendTasksDeps, { claim, answer, ms }: Answered): SettledClaim {
  if ('done' in answer) {
    const settlement: Settlement = { state: 'done', outcome: { kind: 'done', version: null } }
    return { claim, settlement, attempt: { ms, outcome: 'done', code: null, message: null } }
  }
  const { refused: code, retry, message, broke } = answer
  const waitMs = waitOf(answer, claim, { limits, random })
  const settlement = decideRetry({ claim, code, retry, ...(waitMs === undefined ? {} : { waitMs }) }, limits, random)
  const outcome = settlement.state === 'dead' ? 'dead' : 'deferred'
  const isPutOff = settlement.state === 'pending' && broke !== undefined
  return {
    ...{ claim, settlement: isPutOff ? { ...settlement, broke: broke && new Date(databaseNow()) } : settlement },
    attempt: { ms, outcome, code, message },
  }
}

/** How long to wait because of what the handler asked for. Undefined if it asked for nothing. */
function waitOf(
  { retry, afterMs }: TaskRefusal,
  { failures }: Claim,
  { limits, random }: Pick<SendTasksDeps, 'limits' | 'random'>,
): number | undefined {
  if (retry !== 'now' && afterMs === undefined) return undefined
  const asked = retry === 'now' || afterMs === undefined ? 0 : spread(afterMs, random)
  // It grows with each failure: otherwise a handler that always asks to be called at once would be, for days.
  const least = backoffMs(LEAST, failures, () => (1 + random()) / 2)
  // A later due time than any that is ever set counts as past.
  return Math.min(Math.max(asked, least), limits.capMs)
}

/** A time that a handler asked for, and a little more: at least half a second, so that 0 does not mean at once. */
function spread(ms: number, random: () => number): number {
  return Math.floor(ms + (0.5 + random() / 2) * Math.max(LEAST_SPREAD_MS, ms * SPREAD))
}

const SAYS: Readonly<Record<string, string>> = {
  private_address: 'The host name of the handler leads to a private address',
  secrets_expired: 'Every secret of the handler has expired',
  timed_out: 'The handler gave no answer in time',
}

function describeFailure(error: AppError): string {
  if (!unavailable.is(error)) return 'The gateway could not make the call'
  const { reason, status } = error.details
  return reason === 'refused'
    ? `The handler answered ${status}`
    : (SAYS[String(reason)] ?? 'The handler could not be reached')
}

function putOff(
  deps: SendTasksDeps,
  claim: Claim,
  { error, broke }: { readonly error: AppError; readonly broke: boolean | undefined },
): SettledClaim {
  const answer: TaskRefusal = { refused: error.code, retry: 'later', message: describeFailure(error), broke }
  return settle(deps, { claim, answer, ms: 0 })
}
