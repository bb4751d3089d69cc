import { integerSetting } from '@oncehook/kernel/settings/settings'
import { z } from 'zod'

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

/** The value of `WORKERS` for one process per core. */
const AUTO = 'auto'

/** The most processes that share the ports. */
const MOST_WORKERS = 64

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

/** What is known about the cores of this machine, and how to read a file of the kernel. */
interface CoresDeps {
  /** Cores that the operating system lets this process use: `os.availableParallelism()`. */
  readonly parallelism: number
  /** The text of a file; null if it cannot be read. */
  readonly readFile: (path: string) => string | null
}

/** The cores that this process may use, at least one. */
interface AvailableCores {
  readonly cores: number
  /** What sets the number: the affinity of the process, or the CPU limit of its container (its cgroup). */
  readonly limitedBy: 'cores' | 'cpu-limit'
}

const ROOT = '/sys/fs/cgroup'

/**
 * Counts the cores that this process may use. Node.js honours the affinity, but not the CPU limit of every kind of cgroup.
 * A part of a core does not count, because a process that has less than a core is slowed down by the kernel.
 * Source: cgroups(7), `cpu.max` of version 2, `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1.
 */
export function countAvailableCores({ parallelism, readFile }: CoresDeps): AvailableCores {
  const limit = Math.min(
    ...cpuFolders(readFile('/proc/self/cgroup') ?? '').map((folder) => readLimit(folder, readFile)),
  )
  const allowed = Math.max(1, Math.floor(limit))
  return allowed < parallelism
    ? { cores: allowed, limitedBy: 'cpu-limit' }
    : { cores: Math.max(1, parallelism), limitedBy: 'cores' }
}

/** The folders of all groups that the process is in. In a container, its own group is often at the root. */
function cpuFolders(memberships: string): readonly string[] {
  const folders = memberships.split('\n').flatMap((line) => {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (path === '') return []
    if (controllers === '') return withParents(ROOT, path)
    return controllers.split(',').includes('cpu') ? withParents(`${ROOT}/${controllers}`, path) : []
  })
  return [ROOT, `${ROOT}/cpu`, ...folders]
}

/** A group may use no more than the groups above it. */
function withParents(root: string, path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '')
  return [root, ...names.map((_, index) => `${root}/${names.slice(0, index + 1).join('/')}`)]
}

/** The cores of one group. Infinite if it has no limit. */
function readLimit(folder: string, readFile: CoresDeps['readFile']): number {
  const [quota, period] = (readFile(`${folder}/cpu.max`) ?? readFormerLimit(folder, readFile)).trim().split(/\s+/)
  const cores = Number(quota) / Number(period)
  return cores > 0 ? cores : Number.POSITIVE_INFINITY
}

function readFormerLimit(folder: string, readFile: CoresDeps['readFile']): string {
  return `${readFile(`${folder}/cpu.cfs_quota_us`) ?? -1} ${readFile(`${folder}/cpu.cfs_period_us`) ?? 1}`
}
