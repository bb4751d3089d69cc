import { availableParallelism } from 'node:os'
import { machineBusyMs, processorMs } from './process-usage.ts'

/** The processor time that was spent while a meter ran. */
export interface Usage {
  /** Name of the process -> milliseconds. */
  readonly processes: Readonly<Record<string, number>>
  /** Share of the machine's processor time that other processes used, 0 to 1. */
  readonly foreignShare: number
}

/** Starts to measure these processes (name -> pid). The result ends the measurement and returns what they used. */
export function startMeter(pids: Readonly<Record<string, number>>): () => Usage {
  const startedAt = performance.now()
  const machine = machineBusyMs()
  const before = readAll(pids)
  return () => {
    const after = readAll(pids)
    const processes = Object.fromEntries(
      Object.keys(pids).map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
    )
    const ours = Object.values(processes).reduce((sum, ms) => sum + ms, 0)
    const capacity = (performance.now() - startedAt) * availableParallelism()
    return { processes, foreignShare: Math.max(0, machineBusyMs() - machine - ours) / capacity }
  }
}

function readAll(pids: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, processorMs(pid)]))
}
