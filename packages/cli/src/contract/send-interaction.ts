import { readCapped } from '@oncehook/kernel/read-capped'
import type { PlannedCall } from './caller-states.ts'
import type { GivenAnswer } from './match-answer.ts'
import { type HandlerIdentity, type PlanDeps, planCall } from './plan-call.ts'
import type { CalledBy, Interaction } from './published-contracts.ts'
import { signCall } from './sign-call.ts'

/** A handler, and what calling it needs. */
export interface CallTarget extends PlanDeps {
  readonly by: CalledBy
  readonly url: string
  readonly handler: HandlerIdentity
  readonly timeoutMs: number
  readonly fetch: typeof fetch
}

/**
 * Sends the call of an interaction, and before it the same call if the state says so. If that one is not accepted, its answer
 * is the answer.
 * @throws SigningError if the secret cannot sign
 * @throws Error if there is no answer
 */
export async function sendInteraction(target: CallTarget, interaction: Interaction): Promise<GivenAnswer> {
  const call = planCall(interaction, target.handler, target)
  if (call.isRepeated) {
    const first = await send(target, interaction, call)
    if (first.status < 200 || first.status > 299) return first
  }
  return send(target, interaction, call)
}

const MOST_BYTES = 1_048_576

async function send(
  { by, url, fetch, timeoutMs, randomId }: CallTarget,
  { request }: Interaction,
  call: PlannedCall,
): Promise<GivenAnswer> {
  const { text, headers } = signCall(by, call, randomId)
  const attempt = request.headers['oncehook-attempt']?.[0]
  const response = await fetch(by === 'https' ? url : `${url.replace(/\/+$/, '')}/events.handle`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', ...headers },
      ...(attempt === undefined ? {} : { 'oncehook-attempt': attempt }),
    },
    body: text,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const { status, headers: given } = response
  const answer = await readText(response)
  return { status, headers: given, text: answer, json: parse(answer) }
}

/** Empty if the body is too large, or does not come. */
async function readText(response: Response): Promise<string> {
  return readCapped(response, MOST_BYTES).then(
    (bytes) => bytes.toString('utf8'),
    () => '',
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
