import { ProblemAnswer } from './problem-answer.ts'

/**
 * Sends JSON to a path of the gateway that needs no token.
 * @throws ProblemAnswer
 */
export async function postJson(path: string, body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw await ProblemAnswer.of(response)
  return await response.json()
}
