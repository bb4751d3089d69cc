import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/error-codes'
import { overloaded } from '../errors.ts'

/** Who wants to know: a sender that has delivered something authentic, or anybody. */
export type Asker = 'known' | 'stranger'

/** What is asked. */
export interface SharedQuestion<Answer> {
  /** What it is about: questions about the same thing have the same answer. */
  readonly thing: string
  /** Questions about one thing begin at most this often, in milliseconds. */
  readonly everyMs: number
  readonly asker: Asker
  readonly put: () => Promise<Answer>
}

/** How much may be asked at once. */
export interface QuestionLimits {
  /** Questions under way. */
  readonly most: number
  /** Of these the ones that only strangers want answered. */
  readonly mostOfStrangers: number
  /** Strangers that wait for the next question about a thing. */
  readonly mostWaiting: number
}

interface Asked<Answer> {
  /** Resolves when the answer is there, whatever it is. */
  readonly ended: Promise<void>
  readonly beganAt: number
  /** The next question about the same thing, which waits for its turn. */
  next?: { readonly answer: Promise<Answer>; asker: Asker }
}

/**
 * Questions to one provider. Everybody who asks about a thing while a question about it is under way shares the next one,
 * for the answer to the first may tell what was before they asked. A question takes one slot, however many share it; one
 * that somebody known shares takes none of those for strangers.
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
   * Asks, or shares the next question about the same thing.
   * @throws overloaded for a stranger, unavailable for others, where too much is asked; and what the question throws
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
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
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

  /** Forgets a question as soon as the next one about the same thing may begin, unless somebody waits for that. */
  async #forget(thing: string, asked: Asked<Answer>, everyMs: number): Promise<void> {
    const leftMs = asked.beganAt + everyMs - performance.now()
    if (leftMs > 0) await sleep(leftMs, undefined, { ref: false })
    if (asked.next === undefined && this.#latest.get(thing) === asked) this.#latest.delete(thing)
  }
}

/** A stranger is told to come again; for others it is a failure of ours. */
function refusalOf(asker: Asker): Error {
  return asker === 'stranger'
    ? overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
    : unavailable({ reason: 'provider_asked_too_much' })
}
