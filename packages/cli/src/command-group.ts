import type { Command } from 'commander'

/** The commands of one subject, such as `events list` and `events show`: made by the first of them. */
export function commandGroup(program: Command, name: string, description: string): Command {
  const present = program.commands.find((command) => command.name() === name)
  return present ?? program.command(name).description(description)
}
