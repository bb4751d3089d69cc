import { addToGroup, type Group } from '../add-to-group.ts'
import type { AddCommand } from '../command.ts'
import { addOperatorAction, type OperatorQuestion, type Typed } from './add-operator-action.ts'
import { readReason } from './read-reason.ts'

/** A command that changes one thing. The audit log records the reason. */
interface ReasonedCommand<Answer> extends OperatorQuestion<Reasoned, Answer> {
  readonly description: string
  /** The name of the only argument, such as `<id>`, and where the user finds its value. */
  readonly argument: readonly [name: string, description: string]
}

/** What the user typed, and the reason. */
interface Reasoned {
  readonly argument: string
  readonly reason: string
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
