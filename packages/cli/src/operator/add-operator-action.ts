import type { Command } from 'commander'
import type { CommandDeps } from '../command.ts'
import { writeJson, writeLines } from '../output.ts'
import { connectOperator } from './connect-operator.ts'
import { ask, type OperatorClient } from './operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from './operator-options.ts'

/** What the user typed: the first argument (empty if there is none) and the options. */
export interface Typed<Options = OperatorOptions> {
  readonly argument: string
  readonly options: Options & OperatorOptions
}

/** One question to the operator API, and its answer as text. */
export interface OperatorQuestion<Given, Answer> {
  readonly call: (client: OperatorClient, given: Given) => Promise<Answer>
  readonly describe: (answer: Answer) => readonly string[]
  /** Lines for standard error, in addition to the answer. */
  readonly warn?: (answer: Answer) => readonly string[]
}

/** Adds the operator options and an action that asks one question, prints the answer and exits with 0. */
export function addOperatorAction<Answer, Options extends object = OperatorOptions>(
  command: Command,
  { context, finish }: CommandDeps,
  { call, describe, warn = () => [] }: OperatorQuestion<Typed<Options>, Answer>,
): void {
  addOperatorOptions(command).action(async () => {
    const options = command.opts<Options & OperatorOptions>()
    const client = await connectOperator(options, context)
    const answer = await ask(call(client, { argument: command.args[0] ?? '', options }))
    if (options.json) writeJson(context, answer)
    else writeLines(context, describe(answer))
    for (const line of warn(answer)) context.warn(`${line}\n`)
    finish(0)
  })
}
