import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { AppError } from './errors.ts'

export type { Logger } from 'pino'

/** What a logger needs: the service's name, the least level and, in tests, where the lines go. */
export interface LoggerOptions {
  readonly service: string
  readonly level: string
  readonly destination?: DestinationStream
}

/**
 * A logger of JSON lines on standard output. The message is a constant name (`webhook.recorded`), values are fields.
 * Never hand it a body, a signature or a secret; the redaction list is the second lock, not the first.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service },
    timestamp: stdTimeFunctions.isoTime,
    redact: {
      paths: ['authorization', 'cookie', 'secret', 'token', 'password', 'signature', 'body', 'raw', 'uri', 'headers'],
      censor: '[redacted]',
    },
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: describeError },
  }
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination)
}

/** What the log tells of an error: names, codes and places of the whole chain, and the messages of our own errors only. */
export function describeError(thrown: unknown): Record<string, unknown> {
  if (!(thrown instanceof Error)) return { name: typeof thrown }
  const own = thrown instanceof AppError
  const code = (thrown as { code?: unknown }).code
  return {
    name: thrown.name,
    ...(code === undefined ? {} : { code }),
    // A driver's or a parser's message can carry addresses and data of the caller, so only ours are printed.
    ...(own ? { message: thrown.message, ...thrown.details } : { at: placesOf(thrown) }),
    ...(thrown.cause === undefined ? {} : { cause: describeError(thrown.cause) }),
  }
}

function placesOf(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 6)
    .map((line) => line.trim().replace(/\(?(?:file:\/\/)?\/\S*?((?:packages|node_modules)\/)/, '($1'))
}
