import { type DestinationStream, type Logger, type LoggerOptions as PinoOptions, pino, stdTimeFunctions } from 'pino'
import { AppError } from './errors.ts'
import { LogOutput } from './log-output.ts'

export type { Logger } from 'pino'

/** What a logger needs: the service's name, the least level and where the lines go. Default: standard output. */
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
 * A logger of JSON lines. The message is a constant name (`webhook.recorded`), values are fields. One line gives the
 * number of lines that standard output lost, once there is room again. Never hand it a body, a signature or a secret; the
 * redaction list is the second lock, not the first: it holds for the fields of a line and for the details of its error,
 * not deeper.
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

/** A line that has an error and no message would get the error's own, which may carry anything. */
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
 * What the log tells of an error: names, codes and places of the whole chain, and the messages of our own errors only.
 * A driver's or a parser's message can carry addresses and data of the caller.
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

/** Where an error was thrown. Its message stands before that, and may look like a place itself. */
function placesOf({ stack = '', message }: Error): string[] {
  return stack
    .slice(stack.includes(message) ? stack.indexOf(message) + message.length : 0)
    .split('\n')
    .filter((line) => PLACE.test(line))
    .slice(0, 6)
    .map((line) => line.trim().replace(/(?:file:\/\/)?\/\S*?((?:packages|node_modules)\/)/, '$1'))
}
