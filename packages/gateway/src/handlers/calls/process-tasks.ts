import { unavailable } from '@oncehook/kernel/http/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import { backoffMs } from '@oncehook/kernel/time/waits'
import type { ProcessedBatch } from '../../dispatch/process-batch.ts'
import { decideRetry, type RetryLimits } from '../../dispatch/retry-policy.ts'
import type { Claim, SettledClaim, Settlement } from '../../inbox/claims/claim.ts'
import type { TaskEvent } from '../events/task-event.ts'
import type { CallHandler, TaskAnswer, TaskRefusal } from './call-handler.ts'
import type { ReadTask } from './read-tasks.ts'

/** Dependencies of `processTasks`. */
export interface TaskDeps {
  readonly read: (claims: readonly Claim[]) => AsyncIterable<ReadTask>
  /** Releases claims whose tasks the database did not yield: they have made no attempt. Never rejects. */
  readonly releaseUnread: (claims: readonly Claim[], error: unknown) => Promise<void>
  readonly call: CallHandler
  readonly limits: RetryLimits
  readonly random: () => number
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

/**
 * Sends claimed tasks to their handler, in as few calls as their size permits, and decides the result of each. Releases those
 * that cannot be read now: that is no failure of the handler. Never throws.
 */
export async function processTasks(deps: TaskDeps, claims: readonly Claim[]): Promise<ProcessedBatch> {
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
  } finally {
    await run.releaseUnread()
  }
}

function isLate({ details }: AppError): boolean {
  return details.reason === 'timed_out'
}

/** The tasks of one batch on their way. */
class TaskRun {
  readonly settled: SettledClaim[] = []
  #isAsked = false
  /** The tasks whose calls the handler was too busy for. */
  readonly #sentAway: SettledClaim[] = []
  #isAnswered = false
  #unread: { readonly claims: ReadonlySet<Claim>; readonly error: unknown } | null = null
  readonly #deps: TaskDeps
  #waiting: { readonly claim: Claim; readonly task: TaskEvent }[] = []
  #characters = 0

  constructor(deps: TaskDeps) {
    this.#deps = deps
  }

  leaveUnhandled(claim: Claim): void {
    const attempt = { ms: 0, outcome: 'unhandled', code: null, message: null }
    this.settled.push({ claim, settlement: { state: 'unhandled', reason: 'test' }, attempt })
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

  /** Releases the claims whose tasks were not read. */
  async releaseUnread(): Promise<void> {
    if (this.#unread !== null) await this.#deps.releaseUnread([...this.#unread.claims], this.#unread.error)
  }

  async add({ claim, read }: ReadTask): Promise<void> {
    if ('refused' in read) {
      this.settled.push(settle(this.#deps, { claim, answer: read, ms: 0 }))
      return
    }
    if (this.#waiting.length > 0 && this.#characters + read.json.length > MOST_CHARACTERS) await this.send()
    this.#waiting.push({ claim, task: read })
    this.#characters += read.json.length
  }

  /** Sends what waits. */
  async send(): Promise<void> {
    if (this.#waiting.length === 0) return
    const sent = this.#waiting
    this.#waiting = []
    this.#characters = 0
    this.#isAsked = true
    const startedAt = performance.now()
    const answers = await this.#deps.call(sent.map(({ task }) => task))
    const ms = Math.round(performance.now() - startedAt)
    for (const [index, { claim }] of sent.entries()) this.#take({ claim, answer: answers[index] ?? UNANSWERED, ms })
  }

  #take(answered: Answered): void {
    const settled = settle(this.#deps, answered)
    if ('isBusy' in answered.answer) this.#sentAway.push(keepSuspicion(settled))
    else {
      this.#isAnswered = true
      this.settled.push(settled)
    }
  }

  /** The result of the batch. If the handler was too busy for every call, its calls have failed. */
  end(): ProcessedBatch {
    if (this.#isAnswered || this.#sentAway.length === 0) {
      return { settled: [...this.settled, ...this.#sentAway], asked: this.#isAsked, failure: null }
    }
    const failure = { error: unavailable({ reason: 'busy' }), reached: false, died: false, isBusy: true }
    return { settled: this.settled, asked: true, failure: { ...failure, putOff: this.#sentAway } }
  }

  /** The result of a batch of these claims, of which a call failed as a whole. */
  fail(claims: readonly Claim[], error: AppError): ProcessedBatch {
    const known = new Set([...this.settled.map(({ claim }) => claim), ...(this.#unread?.claims ?? [])])
    const putOff = claims.filter((claim) => !known.has(claim)).map((claim) => putBack(this.#deps, claim, error))
    // One slow task looks like this, too.
    const late = isLate(error) ? { isBusy: true } : {}
    return { settled: this.settled, asked: true, failure: { error, reached: false, died: false, ...late, putOff } }
  }
}

const UNANSWERED: TaskRefusal = { refused: 'unavailable', retry: 'later', message: 'The handler gave no answer' }

interface Answered {
  readonly claim: Claim
  readonly answer: TaskAnswer
  readonly ms: number
}

function settle(deps: TaskDeps, { claim, answer, ms }: Answered): SettledClaim {
  if ('done' in answer) {
    const settlement: Settlement = { state: 'done', outcome: { kind: 'done', version: null } }
    return { claim, settlement, attempt: { ms, outcome: 'done', code: null, message: null } }
  }
  const settlement = decide(deps, claim, answer)
  const outcome = settlement.state === 'dead' ? 'dead' : 'deferred'
  return { claim, settlement, attempt: { ms, outcome, code: answer.refused, message: answer.message } }
}

function decide({ limits, random }: TaskDeps, claim: Claim, { refused, retry, afterMs }: TaskRefusal): Settlement {
  const tried = { ...claim, code: refused, retry, isFault: false, othersWork: false }
  const settlement = decideRetry(tried, limits, random)
  if (settlement.state !== 'pending') return settlement
  if (retry !== 'now' && afterMs === undefined) return settlement
  const asked = retry === 'now' || afterMs === undefined ? 0 : spread(afterMs, random)
  // A later due time than any that is ever set counts as past.
  return { state: 'pending', delayMs: Math.min(Math.max(asked, leastWait(claim.failures, random)), limits.capMs) }
}

/** A wait that grows with each failure. Otherwise a handler that always asks to be called at once would be, for days. */
function leastWait(failures: number, random: () => number): number {
  return backoffMs(LEAST, failures, () => (1 + random()) / 2)
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

/** A task of a call that failed as a whole: nothing counts against it that did not count before. */
function putBack(deps: TaskDeps, claim: Claim, error: AppError): SettledClaim {
  const answer: TaskRefusal = { refused: error.code, retry: 'later', message: describeFailure(error) }
  return keepSuspicion(settle(deps, { claim, answer, ms: 0 }))
}

function keepSuspicion({ claim, settlement, attempt }: SettledClaim): SettledClaim {
  if (settlement.state !== 'pending') return { claim, settlement, attempt }
  return { claim, settlement: { ...settlement, failedCalls: claim.failedCalls }, attempt }
}
