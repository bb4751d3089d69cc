import type { AvailableCores } from './available-cores.ts'
import { AUTO, MOST_WORKERS } from './workers-setting.ts'

/** How many processes share the ports, and why. */
export interface ChosenWorkers {
  readonly workers: number
  /** The setting itself, the cores of the machine, or the CPU limit of the container. */
  readonly because: 'setting' | AvailableCores['limitedBy']
  /** The cores that this process may use. */
  readonly cores: number
}

/** Chooses how many processes share the ports: as many as set, or one per core. */
export function chooseWorkers(setting: number | typeof AUTO, available: AvailableCores): ChosenWorkers {
  const { cores, limitedBy } = available
  if (setting !== AUTO) return { workers: setting, because: 'setting', cores }
  return { workers: Math.min(cores, MOST_WORKERS), because: limitedBy, cores }
}
