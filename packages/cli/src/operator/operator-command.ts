// Commands that ask the operator API one question and print the answer. Those that change something also take a reason, and
// those that list something take a page.

import type { Command } from 'commander'
import { type CliContext, type CommandDeps, type ExitCode, UsageError } from '../command.ts'
import { readWhole } from '../options/option-values.ts'
import { toPrintable, toTableLines, writeResult } from '../output.ts'
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
  /** Default: 0. */
  readonly exitCode?: (answer: Answer) => ExitCode
}

/** Adds the operator options and an action that asks one question and prints the answer. */
export function addOperatorAction<Answer, Options extends object = OperatorOptions>(
  command: Command,
  { context, finish }: CommandDeps,
  { call, describe, warn = () => [], exitCode = () => 0 }: OperatorQuestion<Typed<Options>, Answer>,
): void {
  addOperatorOptions(command).action(async () => {
    const options = command.opts<Options & OperatorOptions>()
    const client = await connectOperator(options, context)
    const answer = await ask(call(client, { argument: command.args[0] ?? '', options }))
    writeResult(context, options, answer, options.json ? [] : describe(answer))
    for (const line of warn(answer)) context.warn(`${line}\n`)
    finish(exitCode(answer))
  })
}

/** The option `--reason` of a command that changes something. A terminal prompts for a reason that is not given. */
export function addReasonOption(command: Command): Command {
  return command.option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
}

/** Adds the option `--reason`, the operator options and an action that changes something. The audit log records the reason. */
export function addReasonedAction<Answer, Options extends object = OperatorOptions>(
  command: Command,
  deps: CommandDeps,
  { call, describe }: Pick<OperatorQuestion<Reasoned<Options>, Answer>, 'call' | 'describe'>,
): void {
  addOperatorAction(addReasonOption(command), deps, {
    call: async (client, typed: Typed<Options & ReasonOptions>) =>
      call(client, { ...typed, reason: await readReason(typed.options, deps.context) }),
    describe,
  })
}

export interface Reasoned<Options = OperatorOptions> extends Typed<Options & ReasonOptions> {
  readonly reason: string
}

export interface ReasonOptions {
  readonly reason?: string
  readonly dryRun?: boolean
}

/**
 * The reason for the audit log: from the option, else from a prompt on the terminal. A dry run needs none.
 * @throws UsageError if there is none
 */
export async function readReason({ reason, dryRun }: ReasonOptions, { ask }: Pick<CliContext, 'ask'>): Promise<string> {
  const given = reason ?? (dryRun ? 'dry run' : await ask?.('Reason (for the audit log): ')) ?? ''
  const trimmed = given.trim()
  if (trimmed.length >= 3 && trimmed.length <= 200) return trimmed
  throw new UsageError('Give a reason with --reason: 3 to 200 characters')
}

export interface PageOptions {
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

/** A page of a list, as the operator API gives it. */
interface Page {
  readonly items: readonly unknown[]
  readonly next: string | null
}

interface PageQuestion<Options, Answer extends Page> {
  readonly call: (client: OperatorClient, page: PageOptions, options: Options) => Promise<Answer>
  /** The line for an empty page. */
  readonly none: string
  readonly head: readonly string[]
  readonly row: (item: Answer['items'][number]) => readonly (string | number | null)[]
  /** Lines after the table. */
  readonly notes?: (answer: Answer) => readonly string[]
}

/** Adds the options of a page, the operator options and an action that prints a page as a table. */
export function addPageAction<Answer extends Page, Options extends object = OperatorOptions>(
  command: Command,
  deps: CommandDeps,
  { call, none, head, row, notes = () => [] }: PageQuestion<Options, Answer>,
): void {
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options }: Typed<Options & PageOptions>) => call(client, toPage(options), options),
    describe: (answer) => [
      ...(answer.items.length === 0
        ? [none]
        : [...toTableLines(head, answer.items.map(row)), ...describeNext(answer.next)]),
      ...notes(answer),
    ],
  })
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
