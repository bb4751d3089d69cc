// Calls of the gateway outside the operator API: JSON without a session. An answer that is not ok throws what went wrong.

export async function postJson(path: string, body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' }
  return readJson(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }))
}

export async function readJson(response: Response): Promise<unknown> {
  if (!response.ok) throw ProblemAnswer.from(response, await response.json().catch(() => null))
  return await response.json()
}

export class ProblemAnswer extends Error {
  readonly code: string
  readonly requestId: string | null

  constructor(message: string, code: string, requestId: string | null = null) {
    super(message)
    this.code = code
    this.requestId = requestId
  }

  /** The problem in the body of a response that is not ok. The body was JSON, or is null. */
  static from(response: Response, body: unknown): ProblemAnswer {
    const members = membersOf(body)
    const message = members.get('error') ?? members.get('title') ?? response.statusText
    const code = members.get('code') ?? response.status
    return new ProblemAnswer(String(message), String(code), response.headers.get('x-request-id'))
  }
}

/** The members of a JSON object by their names; none if it is another value. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}
