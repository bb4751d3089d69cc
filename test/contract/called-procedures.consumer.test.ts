import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operatorRouter } from '@oncehook/gateway/start/operator-router'
import { describe, expect, it } from 'vitest'
import { CONTRACTS, readPact } from './pact-files.ts'

const PACKAGES = join(import.meta.dirname, '..', '..', 'packages')
const CALL = /((?:\w+\.)*\w+)\.(?:query|mutate)\(/g
const LAST_NAMES = new Set(Object.keys(operatorRouter._def.procedures).map(lastNameOf))

function sourcesOf(client: 'cli' | 'console'): string[] {
  const sources = join(PACKAGES, client, 'src')
  const files = globSync('**/*.{ts,tsx}', { cwd: sources }).filter((file) => !/\.test\.|testing\//.test(file))
  return files.map((file) => readFileSync(join(sources, file), 'utf8'))
}

/**
 * The procedures of the operator API that the sources of a client call, in alphabetical order. A call by a part of the
 * client is among them without the name of its router, so that it is not overlooked.
 */
function calledProcedures(client: 'cli' | 'console'): string[] {
  // A long call has more than one line.
  const calls = sourcesOf(client).flatMap((text) =>
    Array.from(text.replaceAll(/\s+(?=\.\w)/g, '').matchAll(CALL), ([, chain = '']) => chain),
  )
  const names = calls.map((chain) => chain.replace(/^(?:.*\.)?(?:client|operator)\./, ''))
  return [...new Set(names.filter((name) => LAST_NAMES.has(lastNameOf(name))))].toSorted()
}

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
