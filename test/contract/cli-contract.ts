import { MatchersV3 } from '@pact-foundation/pact'
import { expect } from 'vitest'
import { runCommand } from '../../packages/cli/src/testing/run-command.ts'
import { type ConsumerContract, openConsumerContract } from './consumer-contract.ts'
import { OPERATOR_TOKEN, type OperatorCall, operatorExchange } from './operator-exchanges.ts'

const { reify } = MatchersV3

/** A command of the command line, the call that it makes, and what it prints about the answer. */
export interface Command extends OperatorCall {
  readonly args: readonly string[]
  /** Default: 0 after an answer that succeeds, and otherwise 1. */
  readonly exitCode?: number
  /** Default: the code of a refusal. */
  readonly says?: RegExp
  /**
   * The data for the other calls of the command, which have separate exchanges. It gets the URL and the body of a
   * call, and returns null for the call of this exchange. Default: there is no other call.
   */
  readonly answerOther?: (call: string) => object | null
}

const CHANGES =
  /\.(?:replay|close|release|sendTest|cancel|rotate|pause|resume|backfill|discard|createCode)$|^\/operator\/erase$/

/** Opens a part of the contract of the command line: the calls that change something, or all others. */
export function openCliContract(part: 'changes' | 'queries'): Promise<ConsumerContract> {
  return openConsumerContract('cli', 'operator-api', (path) => CHANGES.test(path) === (part === 'changes'))
}

/** Runs a command while the answer to its call is served, and compares what it prints. */
export async function expectCommand(contract: ConsumerContract, command: Command): Promise<void> {
  const { args, answerOther = () => null, ...more } = command
  const { exitCode = more.answer.status === 200 ? 0 : 1, says = reasonOf(more.answer), ...call } = more
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const other = answerOther(decodeURIComponent(`${String(input)} ${String(init?.body ?? '')}`))
    return other === null ? globalThis.fetch(input, init) : Response.json({ result: { data: other } })
  }
  await contract.expectExchange(operatorExchange(call), async (url) => {
    const ran = await runCommand([...args, '--admin-url', url], { fetch, operatorToken: OPERATOR_TOKEN })
    expect(`${ran.stdout}${ran.stderr}`).toMatch(says)
    expect(ran.exitCode).toBe(exitCode)
  })
}

/** What the command line prints of a refusal. */
function reasonOf({ body }: OperatorCall['answer']): RegExp {
  const { error } = reify(body as never) as unknown as {
    readonly error?: { readonly data: { readonly reason: string } }
  }
  return new RegExp(`\\(${error?.data.reason}\\)`)
}
