import { type DestinationStream, type Logger, type LoggerOptions as PinoOptions, pino, stdTimeFunctions } from 'pino'
import { AppError } from '../http/errors.ts'
import { LogOutput } from './log-output.ts'

export type { Logger } from 'pino'

/** Options of a logger: the service name, the minimum level and the destination. Default: standard output. */
export interface LoggerOptions {
  readonly service: string
  readonly level: string
  readonly destination?: DestinationStream
}

const NEVER_SHOWN = [
  'authorization',
  'cookie',
  'secret',
  'token',
  'password',
  'signature',
  'body',
  'raw',
  'uri',
  'headers',
]

/**
 * A logger of JSON lines. The message is a constant event name (`webhook.recorded`); values are fields. After
 * standard output dropped lines, one line reports their number. Never log a body, a signature or a secret. The
 * redaction list is only a second line of defence: it covers the fields of a line and the details of its error,
 * nothing deeper.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings: PinoOptions = {
    level: options.level,
    base: { service: options.service },
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: NEVER_SHOWN.flatMap((name) => [name, `error.${name}`]), censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
    errorKey: 'error',
    serializers: { error: describeError, err: describeError },
    hooks: { logMethod: withoutForeignMessage },
  }
  const destination = options.destination ?? new LogOutput()
  const logger = pino(settings, destination)
  if (destination instanceof LogOutput) {
    destination.onRoom = (lines) => logger.warn({ lines }, 'log.lines-dropped')
  }
  return logger
}

type LogMethod = NonNullable<NonNullable<PinoOptions['hooks']>['logMethod']>

/** Without a message, a line with an error would get the message of the error, which may contain anything. */
const withoutForeignMessage: LogMethod = function (args, method) {
  const [first, message = 'error.logged', ...rest] = args as [unknown, string?, ...unknown[]]
  if (first instanceof Error) method.apply(this, [{ error: first }, message, ...rest])
  else if (hasError(first)) method.apply(this, [first, message, ...rest])
  else method.apply(this, args)
}

function hasError(fields: unknown): fields is { error: unknown } {
  return typeof fields === 'object' && fields !== null && 'error' in fields
}

const MAX_CHAIN = 8
const MAX_PARTS = 4

/**
 * The loggable part of an error: names, codes and stack locations of the whole cause chain, and the messages of our
 * errors only. Messages of drivers and parsers can contain addresses and data of the caller.
 */
export function describeError(thrown: unknown): Record<string, unknown> {
  return describeChain(thrown, MAX_CHAIN)
}

function describeChain(thrown: unknown, depth: number): Record<string, unknown> {
  if (!(thrown instanceof Error)) return { name: thrown === null ? 'null' : typeof thrown }
  const told = thrown instanceof AppError ? { ...thrown.details, message: thrown.message } : { at: placesOf(thrown) }
  return { ...told, name: thrown.name, ...codeOf(thrown), ...(depth > 0 ? causesOf(thrown, depth - 1) : {}) }
}

function causesOf(thrown: Error, depth: number): Record<string, unknown> {
  const parts = thrown instanceof AggregateError ? thrown.errors.slice(0, MAX_PARTS) : []
  return {
    ...(thrown.cause === undefined ? {} : { cause: describeChain(thrown.cause, depth) }),
    ...(parts.length === 0 ? {} : { errors: parts.map((part) => describeChain(part, 0)) }),
  }
}

function codeOf({ code }: Error & { code?: unknown }): { code?: number | string } {
  return typeof code === 'number' || (typeof code === 'string' && /^\w{1,60}$/.test(code)) ? { code } : {}
}

const PLACE = /^ {4}at [^\n]{1,300}:\d+:\d+\)?$/

/** The stack locations of an error. The message precedes them and may look like a location itself. */
function placesOf({ stack = '', message }: Error): string[] {
  return stack
    .slice(stack.includes(message) ? stack.indexOf(message) + message.length : 0)
    .split('\n')
    .filter((line) => PLACE.test(line))
    .slice(0, 6)
    .map((line) => line.trim().replace(/(?:file:\/\/)?\/\S*?((?:packages|node_modules)\/)/, '$1'))
}
