import type { Stack } from './stack.ts'

/** Calls the operator API of a stack: a query without input, a mutation with one. Throws unless it is answered 200. */
export async function callOperator(stack: Stack, procedure: string, input: object | undefined): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${stack.place.adminPort}/operator/${procedure}`, {
    method: input === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${stack.secrets.operatorToken}`, 'content-type': 'application/json' },
    ...(input === undefined ? {} : { body: JSON.stringify(input) }),
  })
  const answer = (await response.json()) as { result?: { data?: unknown } }
  if (response.status !== 200) throw new Error(`${procedure} is answered ${response.status}: ${JSON.stringify(answer)}`)
  return answer.result?.data
}
