import { existsSync, globSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFulfilment, type FulfilmentDescription } from './describe-fulfilment.ts'
import { describeHandler } from './describe-handler.ts'
import { describeOperator } from './describe-operator.ts'
import { schemaBreaks } from './schema-breaks.ts'

/**
 * The providers of internal procedures, each with what describes it. `npm run fix` writes each description to
 * `contracts/<provider>.json`.
 */
export const DESCRIPTIONS: Readonly<Record<string, () => FulfilmentDescription>> = {
  fulfilment: describeFulfilment,
  handler: describeHandler,
  operator: describeOperator,
}

const PATTERNS = ['*-*.json', '{fulfilment,handler,operator}.json', 'messages/*.json', 'libraries/*.txt']

/** The file names of everything in a folder that somebody relies on. */
export function contractNames(folder: string): string[] {
  return globSync(PATTERNS, { cwd: folder }).toSorted()
}

/** The release with the highest version. Undefined if none is recorded. */
export async function lastRelease(contracts: string): Promise<string | undefined> {
  const { compare } = new Intl.Collator('en', { numeric: true })
  const folder = join(contracts, 'releases')
  return existsSync(folder) ? (await readdir(folder)).toSorted(compare).at(-1) : undefined
}

/** The text of a description's file. */
export function describedText(description: FulfilmentDescription): string {
  return `${JSON.stringify(description, null, 2)}\n`
}

/**
 * Compares a provider of internal procedures with its committed description, and with those of the releases.
 * @throws with the consumer and every break
 */
export function demandDescription(contracts: string, provider: string): void {
  const now = DESCRIPTIONS[provider]?.()
  for (const name of globSync([`${provider}.json`, `releases/*/${provider}.json`], { cwd: contracts })) {
    const recorded: FulfilmentDescription = JSON.parse(readFileSync(join(contracts, name), 'utf8'))
    const breaks = now === undefined ? ['it is gone'] : breaksOf(provider, recorded, now)
    if (breaks.length === 0) continue
    const whose = provider === 'handler' ? 'handlers by tRPC' : callersIn(contracts, provider, breaks)
    const owes = provider === 'handler' ? 'consumer gateway' : `provider ${provider}`
    const who = `The ${owes} breaks what it owes to ${whose} (contracts/${name}):`
    const hint = 'If nobody relies on it, record it: UPDATE_CONTRACTS=1 npm run fix'
    throw new Error([who, ...breaks.map((line) => `- ${line}`), hint].join('\n'))
  }
}

/** A handler is somebody else's: our side, the gateway, takes its answers and gives it events. */
function breaksOf(provider: string, was: FulfilmentDescription, now: FulfilmentDescription): string[] {
  if (provider !== 'handler') return schemaBreaks(was, now)
  return schemaBreaks(fromOutside(was), fromOutside(now), ['output', 'input'])
}

function fromOutside({ procedures, errors }: FulfilmentDescription): FulfilmentDescription {
  const turned = Object.entries(procedures).map(([name, { kind, input, output }]) => [
    name,
    { kind, input: output, output: input },
  ])
  return { procedures: Object.fromEntries(turned), errors }
}

function callersIn(contracts: string, provider: string, breaks: readonly string[]): string {
  const consumers = provider === 'operator' ? operatorsIn(contracts, breaks) : ['gateway']
  return consumers.length === 0 ? 'callers' : `the consumer ${consumers.join(' and the consumer ')}`
}

/** The consumers of the operator API that call a procedure of a break. An error can be the answer to each. */
function operatorsIn(contracts: string, breaks: readonly string[]): string[] {
  const names = globSync('*-operator-api.json', { cwd: contracts }).toSorted()
  const pacts = names.map((name) => JSON.parse(readFileSync(join(contracts, name), 'utf8')))
  const broken = new Set(breaks.map((line) => line.split(/[ :]/, 1)[0]))
  const isCalled = ({ request }: { readonly request: { readonly path: string } }) =>
    broken.has('the') || broken.has(request.path.replace('/operator/', ''))
  return pacts.filter(({ interactions }) => interactions.some(isCalled)).map(({ consumer }) => consumer.name)
}

/**
 * Records what consumers rely on in a release: the contracts.
 * @throws if the release was recorded before, because its callers no longer change
 */
export async function recordRelease(contracts: string, version: string): Promise<void> {
  const folder = join(contracts, 'releases', version)
  await mkdir(join(contracts, 'releases'), { recursive: true })
  await mkdir(folder)
  for (const name of contractNames(contracts)) await cp(join(contracts, name), join(folder, name))
}
