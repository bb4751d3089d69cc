import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from './run-cli.ts'
import { runCommand, testContext } from './testing/run-command.ts'

const repository = join(import.meta.dirname, '../../..')

function wholeProgram(): Command {
  return createProgram({ context: testContext(), finish: () => undefined })
}

/** What is wrong with a command line that somebody is told to run: a word or an option that no command has. */
function unknownIn(line: string): string | null {
  const [, ...words] = line.split(' ')
  let command = wholeProgram()
  // A group alone is a name for its commands.
  while (command.commands.length > 0 && words.length > 0) {
    const word = words.shift() ?? ''
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) return `${line}: no command ${word}`
    command = next
  }
  const options = words.flatMap((word) => /^(--[a-z-]+)/.exec(word)?.[1] ?? [])
  const unknown = options.find((option) => command.options.every(({ long }) => long !== option))
  return unknown === undefined ? null : `${line}: no option ${unknown}`
}

/** The commands in a text, up to the first word that is a value of somebody's own. */
function commandsIn(text: string, before: RegExp): string[] {
  const line = /oncehook (?:-- )?((?:[a-z][a-z-]* )*[a-z][a-z-]*(?: --[a-z-]+(?:[ =][a-z]+\b| \$\{\w+\})?)*)/.source
  const found = text.matchAll(new RegExp(before.source + line, 'g'))
  return Array.from(found, ([, command = '']) => `oncehook ${command}`)
}

it('every command that a message or a document says to run exists, with its options', () => {
  const read = (path: string): string => readFileSync(join(repository, path), 'utf8')
  const sources = globSync('packages/{cli,gateway,fulfilment,kernel,webhooks}/src/**/*.ts', { cwd: repository })
  const documents = globSync('{README,docs/**/*,packages/*/README,examples/*/README}.md', { cwd: repository })
  const named = [
    ...sources.filter((path) => !path.endsWith('.test.ts')).flatMap((path) => commandsIn(read(path), /[Rr]un /)),
    ...documents.flatMap((path) => commandsIn(read(path), /(?:npm run (?:--silent |-s )?|`)/)),
  ]
  expect(named.length).toBeGreaterThan(30)
  expect(named.map(unknownIn).filter((problem) => problem !== null)).toEqual([])
})

describe('runCli', () => {
  it.each([[['--help']], [['help']], [['send', '--help']]])('prints help for %j and exits with 0', async (args) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect(stdout).toContain('Usage: oncehook')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  })

  it.each([[[]], [['unknown']], [['send', 'something']]])('exits with 2 for %j', async (args) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).not.toBe('')
  })

  it('reports other errors, and exits with 1', async () => {
    const readStdin = async () => {
      throw new Error('The pipe is broken')
    }
    const readEnv = (name: string) => (name === 'X' ? 'x' : undefined)
    expect(await runCommand(['sign', '--secret-env', 'X'], { readStdin, readEnv })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/\nUnexpected error: The pipe is broken\n$/),
    })
  })
})
