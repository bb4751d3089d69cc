import { MatchersV3 } from '@pact-foundation/pact'
import { expect } from 'vitest'
import { describeCommands, runCommand } from '../../packages/cli/src/testing/run-command.ts'
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
  /\.(?:replay|close|release|sendTest|cancel|rotate|pause|resume|backfill|discard|createCode|correct|releaseAll|end)$|^\/operator\/erase$/

interface CliContract extends ConsumerContract {
  /** The arguments of the commands so far. */
  readonly ran: (readonly string[])[]
}

/** Opens a part of the contract of the command line: the calls that change something, or all others. */
export async function openCliContract(part: 'changes' | 'queries'): Promise<CliContract> {
  const contract = await openConsumerContract(
    'cli',
    'operator-api',
    (path) => CHANGES.test(path) === (part === 'changes'),
  )
  const ran: (readonly string[])[] = []
  return {
    ...{ ...contract, ran },
    async compareWithCommitted(env) {
      const who = 'The consumer cli has options without an interaction (contracts/cli-operator-api.json)'
      expect(optionsWithoutCall(ran), who).toEqual([])
      await contract.compareWithCommitted(env)
    },
  }
}

/** How long to wait is nothing that the gateway hears of. */
const WITHOUT_CALL = ['--timeout']

/** The options that no command of the list has, of the commands that it has. */
function optionsWithoutCall(ran: CliContract['ran']): string[] {
  return describeCommands().flatMap(({ words, options }) => {
    const own = ran.filter((args) => words.every((word, index) => args[index] === word))
    const had = new Set([...WITHOUT_CALL, ...own.flat()])
    return own.length === 0 ? [] : options.filter((name) => !had.has(name)).map((name) => [...words, name].join(' '))
  })
}

/** An option that selects events, its value, and the property of the filter that it becomes. */
type FilterOption = readonly [option: string, value: string | null, filter: object]

/** Every option that selects events. None selects the dead event of the state, except for the last. */
export const FILTERS: readonly FilterOption[] = [
  ['--provider', 'nobody', { provider: 'nobody' }],
  ['--event-id', 'evt_none', { eventId: 'evt_none' }],
  ['--type', 'of.none', { type: 'of.none' }],
  ['--state', 'closed', { state: 'closed' }],
  ['--failed-with', 'amount_mismatch', { reason: 'amount_mismatch' }],
  ['--handler', 'nobody', { handler: 'nobody' }],
  ['--order', 'ord_none', { orderId: 'ord_none' }],
  ['--payment', 'pay_none', { paymentId: 'pay_none' }],
  ['--duplicates', 'changed', { duplicates: 'changed' }],
  ['--secret-id', 'none', { secretId: 'none' }],
  ['--test', null, { test: true }],
  ['--from', '2099-01-01', { from: '2099-01-01T00:00:00.000Z' }],
  ['--to', '2000-01-01', { to: '2000-01-01T00:00:00.000Z' }],
  ['--no-test', null, { test: false }],
]

/** The other choices of these options. Only `dead` selects the event of the state. */
export const CHOICES: readonly FilterOption[] = [
  ...['pending', 'processing', 'done', 'unhandled', 'dead'].map((one) => ['--state', one, { state: one }] as const),
  ...['any', 'repeated'].map((kind) => ['--duplicates', kind, { duplicates: kind }] as const),
]

/** The words of a command that has an option. */
export function withOption(words: string, [option, value]: FilterOption): string[] {
  return [...words.split(' '), option, ...(value === null ? [] : [value])]
}

/** Runs a command while the answer to its call is served, and compares what it prints. */
export async function expectCommand(contract: CliContract, command: Command): Promise<void> {
  contract.ran.push(command.args)
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
