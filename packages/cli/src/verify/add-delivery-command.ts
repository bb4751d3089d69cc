import type { Command } from 'commander'
import type { CliContext } from '../cli-context.ts'
import type { CommandDeps } from '../command.ts'
import { writeJson, writeLines } from '../output.ts'
import { addDeliveryOptions, type DeliveryOptions } from './delivery-options.ts'

/** What a command found out about a delivery. */
export interface DeliveryFinding {
  readonly isAccepted: boolean
  /** The output. */
  readonly lines: readonly string[]
  /** The output of `--json`. */
  readonly document: object
}

/** A command that examines one delivery. */
export interface DeliveryCommand {
  readonly name: string
  readonly description: string
  /** Options that only this command has. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  readonly examine: (
    file: string | undefined,
    options: DeliveryOptions,
    context: CliContext,
  ) => Promise<DeliveryFinding>
}

/** Adds a command that examines the delivery of its options. It exits with 0 if the delivery is accepted, otherwise with 1. */
export function addDeliveryCommand(program: Command, { context, finish }: CommandDeps, command: DeliveryCommand): void {
  const { name, description, options: more = [], examine } = command
  const added = addDeliveryOptions(program.command(name).description(description))
  for (const [flags, meaning] of more) added.option(flags, meaning)
  added.action(async (file: string | undefined, options: DeliveryOptions) => {
    const { isAccepted, lines, document } = await examine(file, options, context)
    if (options.json) writeJson(context, document)
    else writeLines(context, lines)
    finish(isAccepted ? 0 : 1)
  })
}
