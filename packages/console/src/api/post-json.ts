// Calls of the gateway outside the operator API: JSON without a session, and the problem in an answer that is not ok.

/**
 * Sends JSON to a path of the gateway that needs no session.
 * @throws ProblemAnswer
 */
export async function postJson(path: string, body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw await ProblemAnswer.of(response)
  return await response.json()
}

/** An answer of the gateway that says what went wrong. */
export class ProblemAnswer extends Error {
  readonly code: string
  readonly requestId: string | null

  constructor(message: string, { code, requestId }: { readonly code: string; readonly requestId: string | null }) {
    super(message)
    this.code = code
    this.requestId = requestId
  }

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

/** The members of a JSON object by their names; none if it is another value. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}
