import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

// Each contract is changed in a copy, once in what is asked and once in what is answered. The tests of its consumer, or of its
// provider, must fail with the name of the contract.

const repository = resolve(import.meta.dirname, '../..')
const contracts = join(repository, 'contracts')

type Headers = Record<string, string | string[]>

interface Interaction {
  readonly request?: { headers?: Headers }
  readonly response?: { headers?: Headers }
  readonly contents?: { readonly content: Record<string, unknown> }
}

/** A pact, or the recorded tokens. */
interface Contract {
  readonly provider: string | { readonly name: string }
  readonly interactions?: readonly Interaction[]
  readonly tokens?: { does: string; token: string }[]
}

type Side = 'request' | 'response'

const names = globSync('{*,messages/*}.json', { cwd: contracts }).filter((name) => {
  const { interactions, tokens } = read(name)
  return interactions !== undefined || tokens !== undefined
})
/** The APIs of payment providers are theirs to verify. */
const verified = names.filter((name) => !/^gateway-\w+-api\.json$/.test(name))

function read(name: string): Contract {
  return JSON.parse(readFileSync(join(contracts, name), 'utf8'))
}

/** The contract with something new on one side of its first interaction. That alone is left for a provider, which is quicker. */
function mutated(name: string, side: Side): Contract {
  const contract = read(name)
  const [token] = contract.tokens ?? []
  if (token !== undefined) Object.assign(token, side === 'request' ? { does: 'does nothing' } : { token: 'a.b.c' })
  const [first] = contract.interactions ?? []
  if (first?.contents !== undefined) first.contents.content.isNew = true
  const sent = first?.[side]
  // A Pact of version 4 has a list of values.
  const isList = Object.values({ ...first?.request?.headers, ...first?.response?.headers }).some(Array.isArray)
  if (sent !== undefined) sent.headers = { ...sent.headers, 'x-new': isList ? ['1'] : '1' }
  return side === 'request' || first === undefined ? contract : { ...contract, interactions: [first] }
}

/** Runs the contract tests of one side with all contracts changed on that side. Returns what is told of the failures. */
async function failuresOf(side: Side, project: 'contract-consumer' | 'contract-provider'): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'oncehook-mutated-'))
  const copy = join(folder.path, 'contracts')
  await cp(contracts, copy, { recursive: true })
  for (const name of names) await writeFile(join(copy, name), JSON.stringify(mutated(name, side)))
  const others = Object.entries(process.env).filter(([name]) => !/^VITEST|^UPDATE_CONTRACTS$/.test(name))
  const env = { ...Object.fromEntries(others), CONTRACTS_FOLDER: copy, CI: '', NO_COLOR: '1' }
  const vitest = join(repository, 'node_modules/vitest/vitest.mjs')
  const run = [vitest, 'run', '--project', project, '--exclude=**/python-consumer*', '--reporter=dot']
  const options = { cwd: repository, env, maxBuffer: 100_000_000 }
  const [failed, told] = await new Promise<[unknown, string]>((ended) =>
    execFile(process.execPath, run, options, (error, _, stderr) => ended([error, stderr])),
  )
  expect(failed).not.toBe(null)
  // Pact prints paths of contracts before.
  return told.slice(told.search(/Failed (?:Suites|Tests)/))
}

describe('a contract with another', { timeout: 900_000 }, () => {
  it('request is noticed by its consumer', async () => {
    const failures = await failuresOf('request', 'contract-consumer')
    expect(names.filter((name) => !failures.includes(`contracts/${name}`))).toEqual([])
  })

  it('answer is noticed by its provider', async () => {
    const failures = await failuresOf('response', 'contract-provider')
    expect(verified.filter((name) => !failures.includes(`contracts/${name}`))).toEqual([])
  })
})
