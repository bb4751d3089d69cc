import { createLogger, type Logger } from '../log/logger.ts'

/** A logger whose lines a test can read, parsed. */
export function memoryLogger(): { readonly logger: Logger; readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  return { logger: createLogger({ service: 'test', level: 'trace', destination }), lines }
}
