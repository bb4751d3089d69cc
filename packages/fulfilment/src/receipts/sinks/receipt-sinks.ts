import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptSink } from '../receipt-sink.ts'
import { createFileSink } from './file-sink.ts'
import { createHttpsSink } from './https-sink.ts'
import { createLogSink } from './log-sink.ts'
import { createSmtpSink } from './smtp-sink.ts'

/** What sinks are made with. */
export interface SinkParts {
  readonly logger: Logger
  /** Where the lines of the logger go, to notice those that it loses. */
  readonly logOutput?: LogOutput | undefined
  readonly fetch: typeof globalThis.fetch
  /** Whom mails are from; needed by `smtp:` only. */
  readonly from: string | undefined
}

/** One kind of sink: what is wrong with an address of its scheme, and how it is made from a right one. */
interface SinkKind {
  problemOf(address: string, from: string | undefined): string | null
  create(address: string, parts: SinkParts): ReceiptSink
}

const mailKind: SinkKind = {
  problemOf(address, from) {
    if (!URL.parse(address)?.hostname) return 'names no mail server behind smtp://'
    return from === undefined || from.trim() === '' ? 'sends mail, so RECEIPT_FROM is needed' : null
  },
  create: (address, { from }) => createSmtpSink({ url: new URL(address), from: from ?? '' }),
}

const postKind: SinkKind = {
  problemOf(address) {
    const url = URL.parse(address)
    if (!url?.hostname) return 'names no server behind https://'
    const local = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
    // Receipts carry names and addresses of customers.
    return url.protocol === 'https:' || local ? null : 'must be https: beyond this machine'
  },
  create: (address, { fetch }) => createHttpsSink({ url: new URL(address), fetch }),
}

const KINDS: Readonly<Record<string, SinkKind>> = {
  log: {
    problemOf: (address) => (address === 'log:' ? null : 'has something behind log:'),
    create: (_, { logger, logOutput }) => createLogSink(logger, logOutput),
  },
  file: {
    problemOf: (address) => (pathOf(address) === null ? 'names no file behind file:' : null),
    create: (address) => createFileSink(pathOf(address) ?? ''),
  },
  smtp: mailKind,
  smtps: mailKind,
  https: postKind,
  http: postKind,
}

/** Why receipts cannot go to this address, or null when they can. */
export function sinkProblem(address: string, from: string | undefined): string | null {
  const kind = KINDS[schemeOf(address)]
  const known = ['log:', 'file:', 'smtp:', 'https:']
  return kind === undefined ? `must begin with ${known.join(' or ')}` : kind.problemOf(address, from)
}

/** Creates the sink of an address that has no problem. */
export function createReceiptSink(address: string, parts: SinkParts): ReceiptSink {
  const kind = KINDS[schemeOf(address)]
  if (kind === undefined) throw new Error('The address of the sink was not checked')
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
