import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operatorRouter } from '@oncehook/gateway/start/operator-router'
import { describe, expect, it } from 'vitest'
import { describeCommands } from '../../packages/cli/src/testing/run-command.ts'
import { texts } from '../../packages/console/src/texts/texts.ts'
import { describeFulfilment } from '../../scripts/contracts/describe-fulfilment.ts'
import { describeOperator } from '../../scripts/contracts/describe-operator.ts'
import { CONTRACTS, readPact } from './pact-files.ts'

const PACKAGES = join(import.meta.dirname, '..', '..', 'packages')
const CALL = /((?:\w+\.)*\w+)\.(?:query|mutate)\(/g
const LAST_NAMES = new Set(Object.keys(operatorRouter._def.procedures).map(lastNameOf))

function sourcesOf(client: 'cli' | 'console'): string[] {
  const sources = join(PACKAGES, client, 'src')
  const files = globSync('**/*.{ts,tsx}', { cwd: sources }).filter((file) => !/\.test\.|testing\//.test(file))
  return files.map((file) => readFileSync(join(sources, file), 'utf8'))
}

interface SourceCall {
  readonly name: string
  /** The text of the input. */
  readonly input: string
}

/**
 * The calls of procedures of the operator API in the sources of a client. A call by a part of the client is among them without
 * the name of its router, so that it is not overlooked.
 */
function callsOf(client: 'cli' | 'console'): SourceCall[] {
  // A long call has more than one line.
  const texts = sourcesOf(client).map((text) => text.replaceAll(/\s+(?=\.\w)/g, ''))
  const calls = texts.flatMap((text) =>
    Array.from(text.matchAll(CALL), ({ 0: { length }, 1: chain = '', index }) => ({
      name: chain.replace(/^(?:.*\.)?(?:client|operator)\./, ''),
      input: withVariables(argumentAt(text, index + length), text),
    })),
  )
  return calls.filter(({ name }) => LAST_NAMES.has(lastNameOf(name)))
}

/** An argument, and what is spread into it. */
function withVariables(argument: string, text: string): string {
  const names = Array.from(argument.matchAll(/\.\.\.(\w+)/g), ([, name]) => name)
  return [argument, ...names.map((name) => new RegExp(`const ${name} = ([^(\\n]*{.*)`).exec(text)?.[1])].join('\n')
}

/** The argument that begins at a place of a text. */
function argumentAt(text: string, start: number): string {
  let depth = 0
  let end = start
  for (; depth > 0 || !/[,)]/.test(text.charAt(end)); end += 1) depth += depthOf(text.charAt(end))
  return text.slice(start, end)
}

function depthOf(character: string): number {
  return '([{'.includes(character) ? 1 : ')]}'.includes(character) ? -1 : 0
}

function calledProcedures(client: 'cli' | 'console'): string[] {
  return [...new Set(callsOf(client).map(({ name }) => name))].toSorted()
}

/** The members that the sources of a client name in an input, and no interaction with this procedure has. */
async function unpromisedMembers(client: 'cli' | 'console'): Promise<string[]> {
  const { interactions } = await readPact(join(CONTRACTS, `${client}-operator-api.json`))
  const promised = new Set(
    interactions.flatMap(({ request: { path, body } }) =>
      membersIn(body).map((member) => `${path.replace('/operator/', '')}: ${member}`),
    ),
  )
  const named = callsOf(client).flatMap(({ name, input }) =>
    Array.from(input.matchAll(/(?<=[{,]\s*)\w+(?=\s*[,:}])/g), ([member]) => `${name}: ${member}`),
  )
  return [...new Set(named)].filter((one) => !promised.has(one))
}

function membersIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return [...Object.keys(value), ...Object.values(value).flatMap(membersIn)]
}

/** The codes that a client tells apart, and no error of the gateway has. */
function unknownCodes(client: 'cli' | 'console', explained: object = {}): string[] {
  // The operator API passes on those of fulfilment.
  const errors = { ...describeFulfilment().errors, ...describeOperator().errors }
  const compared = sourcesOf(client).flatMap((text) => Array.from(text.matchAll(CODE), ([, code = '']) => code))
  return [...compared, ...Object.keys(explained)].filter((code) => errors[code] === undefined)
}

const CODE = /(?:(?<!typeof )\bcode|codeOf\(\w+\)) [!=]== '([a-z_]+)'/g
/** What the page calls its own problems. */
const OF_PAGE = ['unreachable', 'storage_blocked', 'other']

/** The procedures of the operator API that a contract has with an answer that succeeds, in alphabetical order. */
async function promisedProcedures(contract: string): Promise<string[]> {
  const { interactions } = await readPact(join(CONTRACTS, contract))
  const answered = interactions.filter(({ request, response }) => {
    return response?.status === 200 && request.path.startsWith('/operator/')
  })
  return [...new Set(answered.map(({ request }) => request.path.replace('/operator/', '')))].toSorted()
}

const PATH = /[`'"](?:\$\{[\w.]+\})?(\/(?:api\/|operator|sign-in|healthz|livez|readyz)[\w./-]*)(?=[`'"?$])/g

/** The paths of the gateway in the sources of a client, without those of its own pages. */
function calledPaths(client: 'cli' | 'console'): string[] {
  const found = sourcesOf(client).flatMap((text) => Array.from(text.matchAll(PATH), ([, path = '']) => path))
  return [...new Set(found)].toSorted()
}

/** The paths in contracts. A path that ends with a slash, or the operator API itself, begins those of its calls. */
async function unpromisedPaths(client: 'cli' | 'console', contracts: readonly string[]): Promise<string[]> {
  const pacts = await Promise.all(contracts.map((name) => readPact(join(CONTRACTS, name))))
  const promised = pacts.flatMap(({ interactions }) => interactions.map(({ request }) => request.path))
  return calledPaths(client).filter((path) => {
    const isStart = path.endsWith('/') || path === '/operator'
    return !promised.some((one) => one === path || (isStart && one.startsWith(path)))
  })
}

function lastNameOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

// A run that updates contracts would read the former ones.
describe.skipIf(process.env.UPDATE_CONTRACTS === '1')('a contract has an interaction that succeeds', () => {
  it('for every procedure that the command line calls', async () => {
    expect(await promisedProcedures('cli-operator-api.json')).toEqual(calledProcedures('cli'))
  })

  it('for every procedure that the page calls', async () => {
    expect(await promisedProcedures('console-operator-api.json')).toEqual(calledProcedures('console'))
  })

  it('with every member of an input that one of them names', async () => {
    for (const client of ['cli', 'console'] as const) {
      const who = `The consumer ${client} passes members that its contract with the operator API lacks`
      expect(await unpromisedMembers(client), who).toEqual([])
    }
  })

  it('with every choice of an option of the command line', async () => {
    const { interactions } = await readPact(join(CONTRACTS, 'cli-operator-api.json'))
    const passed = JSON.stringify(interactions.map(({ request }) => request.body))
    const choices = describeCommands().flatMap((command) => command.choices)
    const who = 'The consumer cli has choices without an interaction (contracts/cli-operator-api.json)'
    expect(
      choices.filter((choice) => !passed.includes(`:"${choice}"`)),
      who,
    ).toEqual([])
  })

  it('or at least an interaction, for every path that one of them has in its code', async () => {
    // The command line delivers as each kind of sender.
    const deliveries = ['standard-webhooks-gateway.json']
    const contracts = {
      cli: ['cli-operator-api.json', 'cli-orders-api.json', ...deliveries],
      console: ['console-operator-api.json'],
    }
    for (const client of ['cli', 'console'] as const) {
      const who = `The consumer ${client} calls paths of the gateway without a contract`
      expect(await unpromisedPaths(client, contracts[client]), who).toEqual([])
    }
  })
})

it('a client tells only those errors apart that the gateway has', () => {
  const pages = unknownCodes('console', texts.problem.next).filter((code) => !OF_PAGE.includes(code))
  expect(pages, 'The consumer console knows codes that the operator API does not have').toEqual([])
  expect(unknownCodes('cli'), 'The consumer cli knows codes that the operator API does not have').toEqual([])
})
