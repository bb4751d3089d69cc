import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { commandTable } from './command-table.ts'
import { testContext } from './testing/run-command.ts'

/** The commands that take an option, as they are typed. */
function commandsWith(option: string): string[] {
  const program = new Command()
  for (const add of commandTable) add(program, { context: testContext(), finish: () => undefined })
  const takes = ({ options }: Command): boolean => options.some(({ long }) => long === option)
  const nested = program.commands.flatMap((group) => group.commands.map((one) => [group, one] as const))
  return [
    ...program.commands.filter(takes).map((command) => command.name()),
    ...nested.filter(([, one]) => takes(one)).map(([group, one]) => `${group.name()} ${one.name()}`),
  ].toSorted()
}

it('README.md names the commands that require a reason, and no other', () => {
  const text = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8').replaceAll(/\s+/g, ' ')
  const [, named = ''] = /These commands require a `--reason`: (.+?)[.;]/.exec(text) ?? []
  // There it selects refusals.
  const commands = commandsWith('--reason').filter((name) => name !== 'refused')
  expect(Array.from(named.matchAll(/`(.+?)`/g), ([, command]) => command)).toEqual(commands)
})
