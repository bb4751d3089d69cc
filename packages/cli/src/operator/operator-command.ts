// Commands that ask the operator API one question and print the answer. Those that change something also take a reason, and
// those that list something take a page.

import type { Command } from 'commander'
import { type AddCommand, addToGroup, type CliContext, type CommandDeps, type Group, UsageError } from '../command.ts'
import { readWhole } from '../options/option-values.ts'
import { toPrintable, writeJson, writeLines } from '../output.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from './operator-client.ts'

/** What the user typed: the first argument (empty if there is none) and the options. */
export interface Typed<Options = OperatorOptions> {
  readonly argument: string
  readonly options: Options & OperatorOptions
}

interface OperatorQuestion<Given, Answer> {
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

/** A command that changes one thing. The audit log records the reason. */
interface ReasonedCommand<Answer>
  extends OperatorQuestion<{ readonly argument: string; readonly reason: string }, Answer> {
  readonly description: string
  /** The name of the only argument, such as `<id>`, and where the user finds its value. */
  readonly argument: readonly [name: string, description: string]
}

/**
 * Defines a command of a group, with the operator options and the option `--reason`. A terminal prompts for a reason that
 * is not given.
 */
export function reasonedCommand<Answer>(
  [group, name]: readonly [group: Group, name: string],
  { description, argument, call, describe }: ReasonedCommand<Answer>,
): AddCommand {
  return (program, deps) => {
    const command = addToGroup(program, group, name)
      .description(description)
      .argument(...argument)
      .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    addOperatorAction(command, deps, {
      call: async (client, typed: Typed<{ readonly reason?: string }>) =>
        call(client, { argument: typed.argument, reason: await readReason(typed.options.reason, deps.context) }),
      describe,
    })
  }
}

const RULE = '3 to 200 characters'

/**
 * The reason for the audit log: from the option, else from a prompt on the terminal.
 * @throws UsageError if there is none
 */
export async function readReason(given: string | undefined, { ask }: Pick<CliContext, 'ask'>): Promise<string> {
  if (given === undefined && ask === null) throw new UsageError(`Give a reason with --reason: ${RULE}`)
  const reason = (given ?? (await ask?.('Reason (for the audit log): ')) ?? '').trim()
  if (reason.length >= 3 && reason.length <= 200) return reason
  throw new UsageError(`Give a reason with --reason: ${RULE}`)
}

export interface PageOptions {
  readonly limit?: number
  readonly after?: string
}

export function addPageOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'page size, at most 100 (default: 20)', readWhole(1, 100))
    .option('--after <cursor>', 'cursor from the last line of the previous page')
}

export function toPage({ limit, after }: PageOptions) {
  return { limit, after }
}

/** A line with the cursor of the next page; no line on the last page. */
export function describeNext(next: string | null): string[] {
  return next === null ? [] : [`More: repeat with --after ${toPrintable(next)}`]
}
