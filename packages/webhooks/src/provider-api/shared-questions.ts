import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/error-codes'
import { overloaded } from '../errors.ts'

/** Who causes a question: a sender whose delivery is authentic, or any other sender. */
export type Asker = 'known' | 'stranger'

/** One question to a provider. */
export interface SharedQuestion<Answer> {
  /** The subject. Questions about the same subject have the same answer. */
  readonly thing: string
  /** The least time between the starts of two questions about the same subject, in milliseconds. */
  readonly everyMs: number
  readonly asker: Asker
  readonly put: () => Promise<Answer>
}

/** How many questions may be asked at once. */
export interface QuestionLimits {
  /** Questions in progress. */
  readonly most: number
  /** Questions in progress that only strangers have asked. */
  readonly mostOfStrangers: number
  /** Strangers that wait for the next question about any subject. */
  readonly mostWaiting: number
}

interface Asked<Answer> {
  /** Resolves when the question has ended, with or without an answer. */
  readonly ended: Promise<void>
  readonly beganAt: number
  /** The next question about the same subject, which has not started yet. */
  next?: { readonly answer: Promise<Answer>; asker: Asker }
}

/**
 * Questions to one provider. Callers that ask about a subject while a question about it is in progress share the next
 * question, because the answer to the first may be older than their request. A shared question takes one slot. It takes no
 * slot for strangers if a known sender shares it.
 */
export class SharedQuestions<Answer> {
  readonly #limits: QuestionLimits
  readonly #latest = new Map<string, Asked<Answer>>()
  #underWay = 0
  #ofStrangers = 0
  #waiting = 0

  constructor(limits: QuestionLimits) {
    this.#limits = limits
  }

  /**
   * Asks, or shares the next question about the same subject.
   * @throws overloaded for a stranger and unavailable for others, if too many questions are in progress; and what the
   * question throws
   */
  ask(question: SharedQuestion<Answer>): Promise<Answer> {
    const latest = this.#latest.get(question.thing)
    if (latest === undefined) return this.#begin(question)
    if (question.asker === 'known') return this.#share(latest, question)
    if (this.#waiting >= this.#limits.mostWaiting) return Promise.reject(refusalOf('stranger'))
    this.#waiting += 1
    return this.#share(latest, question).finally(() => {
      this.#waiting -= 1
    })
  }

  #share(latest: Asked<Answer>, question: SharedQuestion<Answer>): Promise<Answer> {
    const { next } = latest
    if (next === undefined) {
      const answer = latest.ended
        .then(() => sleep(Math.max(0, latest.beganAt + question.everyMs - performance.now())))
        .then(() => this.#begin({ ...question, asker: latest.next?.asker ?? question.asker }))
      latest.next = { answer, asker: question.asker }
      return answer
    }
    if (question.asker === 'known') next.asker = 'known'
    return next.answer
  }

  async #begin({ thing, everyMs, asker, put }: SharedQuestion<Answer>): Promise<Answer> {
    const { most, mostOfStrangers } = this.#limits
    const isOfStrangers = asker === 'stranger'
    if (this.#underWay >= most || (isOfStrangers && this.#ofStrangers >= mostOfStrangers)) {
      this.#latest.delete(thing)
      throw refusalOf(asker)
    }
    this.#underWay += 1
    if (isOfStrangers) this.#ofStrangers += 1
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
      if (isOfStrangers) this.#ofStrangers -= 1
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

/** A stranger gets 429 and can try again; for others it is a failure on our side. */
function refusalOf(asker: Asker): Error {
  return asker === 'stranger'
    ? overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
    : unavailable({ reason: 'provider_asked_too_much' })
}
