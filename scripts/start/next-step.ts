import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { DataFolder } from './data-folder.ts'
import { isSet, type SystemSettings, toProvidersFile } from './service-environments.ts'

/**
 * The lines that say what to do next with a running system: a command to paste. It names its order and its event, so if it is
 * pasted again, it delivers the same event, gets the same answer, and changes nothing.
 */
export function describeNextStep(settings: SystemSettings): readonly string[] {
  const { env, data } = settings
  const needs = isSet(env, 'API_TOKENS') ? ['API_TOKEN is one of your API_TOKENS'] : []
  const token = needs.length > 0 ? ' --token-env API_TOKEN' : ''
  const name = randomBytes(4).toString('hex')
  const line = `npm run oncehook -- send${token} --ensure-order ord_${name} --event-id evt_${name}`
  if (usesMadeProviders(settings)) {
    const terminal = otherTerminal(env, data, needs)
    return [`Paste this line into ${terminal}: it makes an order and delivers its signed payment`, '', line]
  }
  if (env.PROVIDERS) needs.unshift('PROVIDERS is set as here')
  const terminal = otherTerminal(env, data, [...needs, 'the variables that your providers name are set as here'])
  return [
    'Let your providers deliver an event. If a payment signed with the secret of the first one counts, paste this line into',
    `${terminal}: it makes an order and delivers its payment`,
    ...['', line],
  ]
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

/** The providers that the first start made. */
function usesMadeProviders({ env, data, secrets }: SystemSettings): boolean {
  if (isSet(env, 'PROVIDERS')) return false
  return isDeepStrictEqual(JSON.parse(readFileSync(data.providers, 'utf8')), toProvidersFile(secrets))
}
