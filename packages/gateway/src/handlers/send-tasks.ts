import { unavailable } from '@oncehook/kernel/http/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/http/errors'
import type { Claim, SettledClaim } from '@oncehook/queue/claim/claim'
import {
  isBrokenCall,
  putOff,
  type Retries,
  settleDone,
  settleRefused,
  settleUnhandled,
} from '@oncehook/queue/dispatch/retry-policy'
import type { Sent } from '@oncehook/queue/dispatch/send'
import { isTest } from '../inbox/event-document.ts'
import type { ReadTask } from './read-tasks.ts'
import type { CallHandler, TaskAnswer, TaskEvent, TaskRefusal } from './task-event.ts'

export interface SendTasksDeps extends Retries {
  readonly read: (claims: readonly Claim[]) => AsyncIterable<ReadTask>
  readonly call: CallHandler
  readonly callMs: number
  readonly databaseNow: () => number
  readonly isBatched: boolean
  readonly sendsTests: boolean
}

// Bodies wait in memory until their call is answered, and a handler takes no longer body by default.
const MOST_CHARACTERS = 1024 * 1024

/** Sends claimed tasks to their handler, in as few calls as their size permits, and decides the result of each. Never throws. */
export async function sendTasks(deps: SendTasksDeps, claims: readonly Claim[]): Promise<Sent> {
  const run = new TaskRun(deps)
  const isLeft = (claim: Claim): boolean => isTest(claim) && !deps.sendsTests
  for (const claim of claims.filter(isLeft)) run.leaveUnhandled(claim)
  const open = claims.filter((claim) => !isLeft(claim))
  try {
    for await (const task of run.read(open)) await run.add(task)
    await run.send()
    return run.end()
  } catch (error) {
    return run.fail(open, toAppError(error))
  }
}

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
    this.#settled.push(settleUnhandled(claim, 'test', 0))
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
      this.#settled.push(this.#refuse(claim, read, 0))
      return
    }
    if (this.#waiting.length > 0 && this.#characters + read.json.length > MOST_CHARACTERS) await this.send()
    this.#waiting.push({ claim, task: read })
    this.#characters += read.json.length
  }

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
    for (const [index, { claim }] of sent.entries()) this.#take(claim, answers[index] ?? UNANSWERED, ms)
  }

  #take(claim: Claim, answer: TaskAnswer, ms: number): void {
    if ('isBusy' in answer) {
      this.#sentAway.push(this.#refuse(claim, answer, ms))
      return
    }
    this.#hasVerdict = true
    this.#settled.push('done' in answer ? settleDone(claim, DONE, ms) : this.#refuse(claim, answer, ms))
  }

  #refuse(claim: Claim, refusal: TaskRefusal, ms: number): SettledClaim {
    const broke = refusal.broke && new Date(this.#deps.databaseNow())
    return putOff(settleRefused(this.#deps, claim, refusal, ms), broke)
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
    const answer: TaskRefusal = { refused: error.code, retry: 'later', message: describeFailure(error), broke }
    return this.#sent(this.#settled, { error, putOff: left.map((claim) => this.#refuse(claim, answer, 0)) })
  }

  #sent(settled: readonly SettledClaim[], failure: Sent['failure']): Sent {
    const unread = this.#unread && { error: this.#unread.error, claims: [...this.#unread.claims] }
    return { settled, hasVerdict: this.#hasVerdict, failure, late: this.#late, unread }
  }
}

const UNANSWERED: TaskRefusal = { refused: 'unavailable', retry: 'later', message: 'The handler gave no answer' }

const DONE = { kind: 'done', version: null }

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
