import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'
import type { LogOutput } from './log-output.ts'

/** Adds the counter `oncehook_log_lines_dropped_total` to a registry. Shows 0 without an output. */
export function addLogMetrics(registry: Registry, output: Pick<LogOutput, 'dropped'> | undefined): void {
  new Counter({
    name: 'oncehook_log_lines_dropped_total',
    help: 'Log lines dropped because the reader was too slow',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(output?.dropped ?? 0)
    },
  })
}
