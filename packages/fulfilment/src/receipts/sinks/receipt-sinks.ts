import type { KeyObject } from 'node:crypto'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isLoopback } from '@oncehook/kernel/http/client'
import type { LogOutput } from '@oncehook/kernel/log/log-output'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { ReceiptSink } from '../receipt-sink.ts'
import { createFileSink } from './file-sink.ts'
import { createHttpsSink } from './https-sink.ts'
import { createSmtpSink } from './smtp-sink.ts'

export interface SinkParts {
  readonly logger: Logger
  /** The log output, used to notice lost lines. */
  readonly logOutput?: LogOutput | undefined
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  /** Sender of the mails. Required for `smtp:` only. */
  readonly from: string | undefined
  /** Keys that sign posted receipts. Required for `https:` to another machine. */
  readonly keys: readonly KeyObject[]
}

/** The raw settings that a kind of sink may need besides its URL. */
export interface SinkTexts {
  readonly from?: string | undefined
  readonly secret?: string | undefined
}

/** One kind of sink: validates a URL of its scheme, and creates the sink from a valid URL. */
interface SinkKind {
  problemOf(address: string, texts: SinkTexts): string | null
  create(address: string, parts: SinkParts): ReceiptSink
}

const mailKind: SinkKind = {
  problemOf(address, { from }) {
    const url = URL.parse(address)
    if (!url?.hostname) return 'must name a mail server after smtp://'
    if (demandsTls(url) === null) return 'has an invalid requireTLS parameter: use true or false'
    const off = demandsTls(url) ? TLS_SWITCHES.find((name) => isSwitchedOff(name, url)) : undefined
    if (off !== undefined) {
      return `requires TLS but disables it with ${off}: remove ${off}, or set only ?requireTLS=false to allow unencrypted mail (for a private certificate authority, set NODE_EXTRA_CA_CERTS=<file>)`
    }
    return from === undefined || from.trim() === '' ? 'sends mail, so RECEIPT_FROM is required' : null
  },
  create(address, { from }) {
    const url = new URL(address)
    return createSmtpSink({ url, from: from ?? '', requireTls: demandsTls(url) !== false })
  },
}

/**
 * Whether mail requires TLS. Default: yes, unless the server is on this machine. Null if the value of `requireTLS` is
 * invalid.
 */
export function demandsTls(url: URL): boolean | null {
  const said = url.searchParams.get('requireTLS')
  if (said === null) return !isLoopback(url)
  return said === 'true' || (said === 'false' ? false : null)
}

// The mail library treats every query parameter as a setting.
const TLS_SWITCHES = ['ignoreTLS', 'opportunisticTLS', 'secured', 'tls.rejectUnauthorized'] as const

function isSwitchedOff(name: (typeof TLS_SWITCHES)[number], { searchParams }: URL): boolean {
  const harmless = name === 'tls.rejectUnauthorized' ? 'true' : 'false'
  return searchParams.getAll(name).some((value) => value !== harmless)
}

const postKind: SinkKind = {
  problemOf(address, { secret }) {
    const url = URL.parse(address)
    if (!url?.hostname) return 'must name a server after https://'
    if (isLoopback(url)) return null
    // Receipts contain names and addresses of customers.
    if (url.protocol !== 'https:') return 'must use https: unless the server is on this machine'
    return secret === undefined ? SECRET_NEEDED : null
  },
  create: (address, { fetch, keys, clock }) => createHttpsSink({ url: new URL(address), fetch, keys, clock }),
}

const SECRET_NEEDED =
  'posts receipts to another machine, so they must be signed. Add RECEIPT_SECRET=whsec_<base64 of 24 to 64 random bytes> (openssl rand -base64 32)'

const KINDS: Readonly<Record<string, SinkKind>> = {
  log: {
    problemOf: (address) => (address === 'log:' ? null : 'must be exactly log:'),
    create: (_, { logger, logOutput }) => createLogSink(logger, logOutput),
  },
  file: {
    problemOf: (address) => (pathOf(address) === null ? 'must name a file after file:' : null),
    create: (address) => createFileSink(pathOf(address) ?? ''),
  },
  smtp: mailKind,
  smtps: mailKind,
  https: postKind,
  http: postKind,
}

/** The problem with this sink URL, or null if it is valid. */
export function sinkProblem(address: string, texts: SinkTexts): string | null {
  const kind = KINDS[schemeOf(address)]
  const known = ['log:', 'file:', 'smtp:', 'https:']
  return kind === undefined ? `must begin with ${known.join(' or ')}` : kind.problemOf(address, texts)
}

export function createReceiptSink(address: string, parts: SinkParts): ReceiptSink {
  const kind = KINDS[schemeOf(address)]
  if (kind === undefined) throw new Error('The sink URL was not validated')
  return kind.create(address, parts)
}

function schemeOf(address: string): string {
  return /^([a-z][a-z0-9+.-]*):/.exec(address)?.[1] ?? ''
}

function pathOf(address: string): string | null {
  if (!address.startsWith('file://')) return address === 'file:' ? null : resolve(address.slice('file:'.length))
  const url = URL.parse(address)
  if (url === null || url.host !== '' || url.pathname.endsWith('/')) return null
  return fileURLToPath(url)
}

/**
 * Creates a sink that logs each receipt without customer data. Readers of the log detect duplicates by key. A receipt
 * counts as not sent if the output loses its line.
 */
export function createLogSink(logger: Logger, output?: Pick<LogOutput, 'dropped'>): ReceiptSink {
  return {
    keyed: true,
    atOnce: 32,
    async send({ email: _, customerId: __, ...receipt }) {
      const before = output?.dropped
      logger.info({ receipt }, 'receipt.sent')
      if (output?.dropped !== before) throw new Error('The log output dropped the line')
    },
    async close() {},
  }
}
