import { availableParallelism } from 'node:os'
import { integerSetting } from '@oncehook/kernel/settings/settings'
import { z } from 'zod'

/** The value of `WORKERS` for one process per core. */
const AUTO = 'auto'

const MOST_WORKERS = 64

/** The number of processes that share the ports: as many as set, or one for each core that Node.js may use. */
export function countWorkers(setting: number | typeof AUTO): number {
  return setting === AUTO ? Math.min(availableParallelism(), MOST_WORKERS) : setting
}

/** The number of processes that share the ports, or `auto` for one per core. */
export function workersSetting() {
  const counted = integerSetting({ min: 1, max: MOST_WORKERS, fallback: 1 })
  return z
    .string()
    .default('1')
    .transform((text, context): number | typeof AUTO => {
      if (text.trim() === AUTO) return AUTO
      const { data } = counted.safeParse(text)
      if (data !== undefined) return data
      context.addIssue({ code: 'custom', message: `must be a whole number from 1 to ${MOST_WORKERS}, or ${AUTO}` })
      return z.NEVER
    })
}
