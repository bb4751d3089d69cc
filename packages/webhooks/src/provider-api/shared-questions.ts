import { setTimeout as sleep } from 'node:timers/promises'
import { overloaded } from '../errors.ts'

export interface SharedQuestion<Answer> {
  /** The subject. Questions about the same subject have the same answer. */
  readonly thing: string
  /** The least time between the starts of two questions about the same subject, in milliseconds. */
  readonly everyMs: number
  readonly put: () => Promise<Answer>
}

export interface QuestionLimits {
  /** Questions in progress. */
  readonly most: number
  /** Callers that wait for the next question about any subject. */
  readonly mostWaiting: number
}

interface Asked<Answer> {
  /** Resolves when the question has ended, with or without an answer. */
  readonly ended: Promise<void>
  readonly beganAt: number
  /** The next question about the same subject, which has not started yet. */
  next?: Promise<Answer>
}

/**
 * Questions to one provider. Callers that ask about a subject while a question about it is in progress share the next
 * question, because the answer to the first may be older than their request. A shared question takes one slot.
 */
export class SharedQuestions<Answer> {
  readonly #limits: QuestionLimits
  readonly #latest = new Map<string, Asked<Answer>>()
  #underWay = 0
  #waiting = 0

  constructor(limits: QuestionLimits) {
    this.#limits = limits
  }

  /**
   * Asks, or shares the next question about the same subject.
   * @throws overloaded if too many questions are in progress, and what the question throws
   */
  ask(question: SharedQuestion<Answer>): Promise<Answer> {
    const latest = this.#latest.get(question.thing)
    if (latest === undefined) return this.#begin(question)
    if (this.#waiting >= this.#limits.mostWaiting) return Promise.reject(askedTooMuch())
    this.#waiting += 1
    return this.#share(latest, question).finally(() => {
      this.#waiting -= 1
    })
  }

  #share(latest: Asked<Answer>, question: SharedQuestion<Answer>): Promise<Answer> {
    latest.next ??= latest.ended
      .then(() => sleep(Math.max(0, latest.beganAt + question.everyMs - performance.now())))
      .then(() => this.#begin(question))
    return latest.next
  }

  async #begin({ thing, everyMs, put }: SharedQuestion<Answer>): Promise<Answer> {
    if (this.#underWay >= this.#limits.most) {
      this.#latest.delete(thing)
      throw askedTooMuch()
    }
    this.#underWay += 1
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const asked: Asked<Answer> = { ended, beganAt: performance.now() }
    this.#latest.set(thing, asked)
    try {
      return await put()
    } finally {
      this.#underWay -= 1
      end()
      void this.#forget(thing, asked, everyMs)
    }
  }

  /** Forgets a question as soon as the next one about the same subject may start, unless a caller waits for it. */
  async #forget(thing: string, asked: Asked<Answer>, everyMs: number): Promise<void> {
    const leftMs = asked.beganAt + everyMs - performance.now()
    if (leftMs > 0) await sleep(leftMs, undefined, { ref: false })
    if (asked.next === undefined && this.#latest.get(thing) === asked) this.#latest.delete(thing)
  }
}

function askedTooMuch(): Error {
  return overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
}
