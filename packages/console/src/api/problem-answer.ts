import { membersOf } from './members-of.ts'

/** An answer of the gateway that says what went wrong. */
export class ProblemAnswer extends Error {
  readonly code: string
  readonly requestId: string | null

  constructor(message: string, { code, requestId }: { readonly code: string; readonly requestId: string | null }) {
    super(message)
    this.code = code
    this.requestId = requestId
  }

  /** Reads the problem of a response that is not ok. */
  static async of(response: Response): Promise<ProblemAnswer> {
    return ProblemAnswer.from(response, await response.json().catch(() => null))
  }

  /** The problem in the body of a response that is not ok. The body was JSON, or is null. */
  static from(response: Response, body: unknown): ProblemAnswer {
    const members = membersOf(body)
    const requestId = response.headers.get('x-request-id')
    const message = members.get('error') ?? members.get('title') ?? response.statusText
    return new ProblemAnswer(String(message), { code: String(members.get('code') ?? response.status), requestId })
  }
}
