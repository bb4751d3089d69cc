import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { DataFolder } from './data-folder.ts'
import {
  gatewayEnvironment,
  isSet,
  type SystemSettings,
  secretVariables,
  toProvidersFile,
} from './service-environments.ts'

/**
 * The lines that say what to do next with a running system: one to paste that pays an order, or why there is none. It is tried
 * out before it is shown, because the providers may be the user's own.
 */
export async function describeNextStep(settings: SystemSettings): Promise<readonly string[]> {
  const { env, data } = settings
  const needs = isSet(env, 'API_TOKENS') ? ['API_TOKEN is one of your API_TOKENS'] : []
  const token = needs.length > 0 ? ' --token-env API_TOKEN' : ''
  if (usesMadeProviders(settings)) return toPaste(otherTerminal(env, data, needs), token)
  const payer = await findPayerOf(settings)
  if ('problems' in payer) return describeProblems(payer.problems)
  if (env.PROVIDERS) needs.unshift('PROVIDERS is set as here')
  const { name, secret } = payer
  const variable = typeof secret.value === 'object' && 'env' in secret.value ? secret.value.env : null
  if (variable !== null && !isKnownElsewhere(variable, settings)) needs.push(`${variable} is set as here`)
  return toPaste(otherTerminal(env, data, needs), ` --provider ${name}${token}`)
}

/** The terminal in which the command line finds this system, and what else must be set there. */
export function otherTerminal(
  env: NodeJS.ProcessEnv,
  { path }: Pick<DataFolder, 'path'>,
  more: readonly string[] = [],
): string {
  const needs = [...(env.ONCEHOOK_DATA ? [`ONCEHOOK_DATA=${path} is set`] : []), ...more]
  return `another terminal${needs.length === 0 ? '' : ` where ${needs.join(', and ')}`}`
}

/** The providers that the first start made. Known to work, so that an ordinary start loads no more code. */
function usesMadeProviders({ env, data, secrets }: SystemSettings): boolean {
  if (isSet(env, 'PROVIDERS')) return false
  return isDeepStrictEqual(JSON.parse(readFileSync(data.providers, 'utf8')), toProvidersFile(secrets))
}

async function findPayerOf(settings: SystemSettings) {
  const { findProviderEntries } = await import('../../packages/cli/src/options/provider-entries.ts')
  const { findPayer } = await import('../../packages/cli/src/send/find-payer.ts')
  const env = gatewayEnvironment(settings)
  const found = await findProviderEntries(
    undefined,
    (name) => env[name],
    async () => null,
  )
  return typeof found === 'string' ? { problems: {} } : findPayer(found, Date.now())
}

/** Whether the command line reads this variable from the file of the development secrets. */
function isKnownElsewhere(variable: string, { env, secrets }: SystemSettings): boolean {
  return !env.PROVIDERS && env[variable] === undefined && Object.hasOwn(secretVariables(secrets), variable)
}

/**
 * The line names its order and its event. If it is pasted again, it delivers the same event, gets the same answer, and changes
 * nothing.
 */
function toPaste(terminal: string, more: string): string[] {
  const name = randomBytes(4).toString('hex')
  return [
    `Paste this line into ${terminal}: it makes an order and delivers its signed payment`,
    '',
    `npm run oncehook -- send${more} --ensure-order ord_${name} --event-id evt_${name}`,
  ]
}

const MOST_SHOWN = 5

function describeProblems(problems: Readonly<Record<string, string>>): string[] {
  const all = Object.entries(problems)
  if (all.length === 0) return ['PROVIDERS names no provider: docs/providers.md says how to add one']
  return [
    'Let your providers deliver an event: `oncehook send` cannot pay an order through any of them',
    ...all.slice(0, MOST_SHOWN).map(([name, problem]) => `  ${name}: ${problem}`),
    ...(all.length > MOST_SHOWN ? [`  and ${all.length - MOST_SHOWN} more`] : []),
  ]
}
