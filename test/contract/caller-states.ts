import { randomUUID } from 'node:crypto'
import { CALLER_STATES, inState, type PlannedCall, signCall } from '../../packages/cli/src/contract/call.ts'
import type { CalledBy } from '../../packages/cli/src/contract/published-contracts.ts'
import { publishedStates } from './published-states.ts'
import type { FilteredRequest, StateHandler } from './verify-contract.ts'

/** Who calls a handler during a verification: the states that the caller creates, and the filter that signs requests. */
export interface ContractCaller {
  readonly states: Readonly<Record<string, StateHandler>>
  readonly filter: (request: FilteredRequest) => Promise<void>
}

/** Which handler is called, and with which secret. */
interface CalledHandler {
  readonly by: CalledBy
  readonly url: string
  readonly name: string
  readonly secret: string
}

/** Creates the caller of a handler. It calls as `oncehook contract verify` does. */
export function createContractCaller({ by, url, name, secret }: CalledHandler): ContractCaller {
  const states = new Set(publishedStates(`${by}-handler`))
  let entered: { name: string; params: Readonly<Record<string, unknown>> }[] = []
  const enter = (state: string): [string, StateHandler] => [
    state,
    async (params: Readonly<Record<string, unknown>>) => void entered.push({ name: state, params }),
  ]
  return {
    states: Object.fromEntries(CALLER_STATES.filter((state) => states.has(state)).map(enter)),
    async filter(request) {
      const body = Buffer.isBuffer(request.body) ? JSON.parse(request.body.toString()) : request.body
      const usual = { secrets: [secret], signedAt: Date.now(), audience: name, isRepeated: false, hasSpaces: false }
      const call = entered.reduce<PlannedCall>(inState, { ...usual, body })
      entered = []
      const { text, headers } = signCall(by, call, randomUUID)
      Object.assign(request.headers, headers, { 'content-length': String(Buffer.byteLength(text)) })
      request.body = Buffer.from(text)
      if (!call.isRepeated) return
      const sent = { 'content-type': 'application/json', ...headers }
      const first = await fetch(`${url}${request.path}`, { method: 'POST', headers: sent, body: text })
      if (!first.ok) throw new Error(`The first of two equal calls was answered with ${first.status}`)
    },
  }
}
