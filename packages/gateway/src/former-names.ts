import { readSetting, SettingsError } from '@oncehook/kernel/settings'
import { z } from 'zod'

/** The name of a setting in release 0.1.0 -> its name today. */
const FORMER_NAMES = { MAX_STARTS: 'MAX_CRASHES' } as const

/**
 * The environment with settings under today's names. Both names may be set to the same value, for gateways of both releases
 * side by side. Each of them may come from a file.
 * @throws SettingsError if both are set, and differ
 */
export function withCurrentNames(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const current = { ...env }
  for (const [former, name] of Object.entries(FORMER_NAMES)) {
    const [ofFormer, own] = [readText(former, env), readText(name, env)]
    if (ofFormer === undefined) continue
    if (own !== undefined && own.trim() !== ofFormer.trim()) {
      throw new SettingsError([`${name} is set twice: as ${name} and by its former name ${former}`])
    }
    if (own === undefined) current[name] = ofFormer
  }
  return current
}

function readText(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return readSetting(name, z.string().optional(), env)
}
