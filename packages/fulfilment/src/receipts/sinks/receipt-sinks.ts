import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptSink } from '../receipt-sink.ts'
import { createFileSink } from './file-sink.ts'
import { createLogSink } from './log-sink.ts'

/** What sinks are made with. */
export interface SinkParts {
  readonly logger: Logger
}

/** One kind of sink: what is wrong with an address of its scheme, and how it is made from a right one. */
interface SinkKind {
  problemOf(address: string): string | null
  create(address: string, parts: SinkParts): ReceiptSink
}

const KINDS: Readonly<Record<string, SinkKind>> = {
  log: {
    problemOf: (address) => (address === 'log:' ? null : 'has something behind log:'),
    create: (_, { logger }) => createLogSink(logger),
  },
  file: {
    problemOf: (address) => (pathOf(address) === null ? 'names no file behind file:' : null),
    create: (address) => createFileSink(pathOf(address) ?? ''),
  },
}

/** Why receipts cannot go to this address, or null when they can. */
export function sinkProblem(address: string): string | null {
  const kind = KINDS[schemeOf(address)]
  const known = Object.keys(KINDS).map((scheme) => `${scheme}:`)
  return kind === undefined ? `must begin with ${known.join(' or ')}` : kind.problemOf(address)
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
