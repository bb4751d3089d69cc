import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operatorRouter } from '@oncehook/gateway/start/operator-router'
import { describe, expect, it } from 'vitest'
import { CONTRACTS, readPact } from './pact-files.ts'

const PACKAGES = join(import.meta.dirname, '..', '..', 'packages')
const CALL = /((?:\w+\.)*\w+)\.(?:query|mutate)\(/g
const LAST_NAMES = new Set(Object.keys(operatorRouter._def.procedures).map(lastNameOf))

/**
 * The procedures of the operator API that the sources of a client call, in alphabetical order. A call by a part of the
 * client is among them without the name of its router, so that it is not overlooked.
 */
function calledProcedures(client: 'cli' | 'console'): string[] {
  const sources = join(PACKAGES, client, 'src')
  const files = globSync('**/*.{ts,tsx}', { cwd: sources }).filter((file) => !file.includes('.test.'))
  const calls = files.flatMap((file) => {
    const text = readFileSync(join(sources, file), 'utf8')
    // A long call has more than one line.
    return Array.from(text.replaceAll(/\s+(?=\.\w)/g, '').matchAll(CALL), ([, chain = '']) => chain)
  })
  const names = calls.map((chain) => chain.replace(/^(?:.*\.)?(?:client|operator)\./, ''))
  return [...new Set(names.filter((name) => LAST_NAMES.has(lastNameOf(name))))].toSorted()
}

/** The procedures of the operator API that a contract has with an answer that succeeds, in alphabetical order. */
async function promisedProcedures(contract: string): Promise<string[]> {
  const { interactions } = await readPact(join(CONTRACTS, contract))
  const answered = interactions.filter(({ response }) => response?.status === 200)
  return [...new Set(answered.map(({ request }) => request.path.replace('/operator/', '')))].toSorted()
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
})
