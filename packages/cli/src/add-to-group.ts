import type { Command } from 'commander'

const GROUPS = {
  audit: 'Inspect the audit log.',
  contract: 'Check your handler or your consumer against the published contracts.',
  encryption: 'Manage encryption at rest.',
  events: 'Inspect events and replay failed ones.',
  handlers: 'Inspect, pause and resume your own handlers.',
  providers: 'Inspect providers and their secrets.',
  receipts: 'Inspect receipts and release parked ones.',
  replays: 'Inspect or cancel a replay.',
}

/** A group of commands. */
export type Group = keyof typeof GROUPS

/** Adds a command such as `events show` to its group. The first command of a group creates it. */
export function addToGroup(program: Command, group: Group, name: string): Command {
  const present = program.commands.find((command) => command.name() === group)
  return (present ?? program.command(group).description(GROUPS[group])).command(name)
}
