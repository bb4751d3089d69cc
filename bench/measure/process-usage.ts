import { readFileSync } from 'node:fs'

// USER_HZ is 100 on every architecture that Linux and Node run on together (proc(5), sysconf(_SC_CLK_TCK)).
const MS_PER_TICK = 10

/** Processor time (milliseconds) that all threads of a process have used since it began, user and system. */
export function processorMs(pid: number): number {
  return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** Reads the processor time (milliseconds) from `/proc/<pid>/stat`. */
function parseProcessStat(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // the name before may contain spaces and parentheses
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK // utime and stime, fields 14 and 15 of the whole line
}

/** The peak resident memory of a process so far, in MiB. */
export function peakResidentMib(pid: number): number {
  return statusMib(pid, 'VmHWM')
}

/** The current resident memory of a process, in MiB. */
export function residentMib(pid: number): number {
  return statusMib(pid, 'VmRSS')
}

function statusMib(pid: number, member: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${member}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
}

/** Processor time (milliseconds) that the machine has spent on anything, or that its host has taken from it. */
export function machineBusyMs(): number {
  return parseMachineStat(readFileSync('/proc/stat', 'utf8'))
}

/** Reads all time except idle time from `/proc/stat`. It includes interrupts, because the time of processes does. */
function parseMachineStat(stat: string): number {
  const [, user, nice, system, , , irq, softirq, steal] = (stat.split('\n', 1)[0] ?? '').split(/\s+/).map(Number)
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * MS_PER_TICK
}
