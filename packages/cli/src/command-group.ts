import type { Command } from 'commander'

/** The parent of commands such as `events list` and `events show`. The first of them creates it. */
export function commandGroup(program: Command, name: string, description: string): Command {
  const present = program.commands.find((command) => command.name() === name)
  return present ?? program.command(name).description(description)
}
