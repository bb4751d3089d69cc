import { SettingsError } from '@oncehook/kernel/settings'

/** The name of a setting in release 0.1.0 -> its name today. */
const FORMER_NAMES = { MAX_STARTS: 'MAX_CRASHES' } as const

/**
 * The environment with settings under today's names. Both names may be set to the same value, for gateways of both releases
 * side by side.
 * @throws SettingsError if both are set, and differ
 */
export function withCurrentNames(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const renamed = Object.entries(FORMER_NAMES).map(([former, name]) => renameOne(env, former, name))
  return Object.assign({ ...env }, ...renamed)
}

function renameOne(env: NodeJS.ProcessEnv, former: string, name: string): NodeJS.ProcessEnv {
  const [ofFormer, own] = [formsOf(env, former), formsOf(env, name)]
  if (own.every((value) => value === undefined)) return { [name]: ofFormer[0], [`${name}_FILE`]: ofFormer[1] }
  if (ofFormer.some((value, form) => value !== undefined && value !== own[form])) {
    throw new SettingsError([`${name} is set twice: as ${name} and by its former name ${former}`])
  }
  return {}
}

/** A setting can be set itself, or by a file. */
function formsOf(env: NodeJS.ProcessEnv, name: string): readonly (string | undefined)[] {
  return [env[name], env[`${name}_FILE`]]
}
