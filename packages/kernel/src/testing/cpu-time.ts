/** Counts the processor time of this process from now on, in milliseconds. Other processes add to time that passes, not to this. */
export function countCpuTime(): () => number {
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
}
