// `oncehook events`: lists events, shows one with everything that is stored about it, closes or releases it, and sends a test
// event. `replays.ts` has `events replay`.

import { FULFILMENT } from '@oncehook/gateway/inbox/event-document'
import { type Command, Option } from 'commander'
import type { AddCommand, CliContext, CommandDeps } from '../command.ts'
import { EVENT_REASONS, type EventReason } from '../event-reasons.ts'
import { addEventFilterOptions, type EventFilterOptions, toEventFilter } from '../operator/event-filter.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageOptions,
  addReasonedAction,
  describeNext,
  type PageOptions,
  type Reasoned,
  type Typed,
  toPage,
} from '../operator/operator-command.ts'
import { readWhole } from '../options/option-values.ts'
import { toPrintable, toTableLines, toTime, writeJson, writeLines } from '../output.ts'
import { addReplayCommand } from './replays.ts'

export const addEventsCommands: AddCommand = (program, deps) => {
  const group = program.command('events').description('Inspect events and replay failed ones.')
  addList(group, deps)
  addShow(group, deps)
  addReplayCommand(group, deps)
  const close = group.command('close').description('Close a dead event, so that no redelivery revives it.')
  addReasonedAction(close.argument(...LISTED), deps, {
    call: (client, { argument: id, reason }) => client.events.close.mutate({ id, reason }),
    describe: () => ['Closed: no redelivery revives the event'],
  })
  const release = group
    .command('release')
    .description('Release an event from the process that holds it, and make it due now.')
  addReasonedAction(release.argument(...LISTED), deps, {
    call: (client, { argument: id, reason }) => client.events.release.mutate({ id, reason }),
    describe: () => ['Released: the event is due now'],
  })
  addTest(group, deps)
}

const LISTED = ['<id>', 'event id, as printed by `events list`'] as const

interface ListOptions extends EventFilterOptions, PageOptions {
  readonly about?: string
  readonly text?: string
}

function addList(group: Command, deps: CommandDeps): void {
  const command = addEventFilterOptions(group.command('list').description('List events, newest first.'))
    .option('--about <id>', 'with this id, or about the order or payment that has it')
    .option('--text <text>', 'with this text in the body (requires the role bodies; the audit log records it)')
  addOperatorAction(addPageOptions(command), deps, {
    call(client, { options }: Typed<ListOptions>) {
      const { about, text } = options
      return client.events.list.query({ ...toEventFilter(options), about, text, ...toPage(options) })
    },
    describe: (page) => (page.items.length === 0 ? ['No events'] : describePage(page)),
    warn: (page) => [...describeNotReadable(page), ...describeCut(page)],
  })
}

const HEAD = ['ID', 'RECEIVED', 'PROVIDER', 'EVENT', 'TYPE', 'ORDER', 'STATE', 'REASON', 'ATTEMPTS', 'DELIVERIES']

type EventPage = Awaited<ReturnType<OperatorClient['events']['list']['query']>>

function describePage({ items, next, cut }: EventPage): string[] {
  const hasHandlers = items.some(({ handler }) => handler !== '' && handler !== FULFILMENT)
  const rows = items.map((event) => [
    ...[event.id, toTime(event.receivedAt), event.provider, event.eventId, event.type, event.orderId],
    ...[event.state, event.reason, event.starts, event.deliveries],
    ...(hasHandlers ? [event.handler || null] : []),
  ])
  return [...toTableLines(hasHandlers ? [...HEAD, 'HANDLER'] : HEAD, rows), ...(cut === null ? describeNext(next) : [])]
}

function describeCut({ next, cut }: EventPage): string[] {
  if (cut === null || next === null) return []
  const time = toTime(cut.searchedTo)
  return [`The search took too long and stopped at ${time}: continue with --after ${toPrintable(next)}, or narrow it`]
}

function describeNotReadable({ notReadable }: EventPage): string[] {
  if (notReadable === 0) return []
  return [`${notReadable} bodies could not be read: run oncehook doctor, which checks the encryption keys`]
}

interface ShowOptions extends OperatorOptions {
  readonly raw?: boolean
  readonly verify?: boolean
}

function addShow(group: Command, { context, finish }: CommandDeps): void {
  const command = group
    .command('show')
    .description('Show one event with its attempts and replays.')
    .argument(...LISTED)
    .option(
      '--raw',
      'print only the body; with --json, add it as `raw` (base64); needs the role `bodies`, and is recorded in the audit log',
    )
    .option('--verify', 'also verify the stored bytes with the secrets, as of the time of receipt')
    .action(async (id: string, options: ShowOptions) => finish(await showEvent(id, options, context)))
  addOperatorOptions(command)
}

async function showEvent(id: string, options: ShowOptions, context: CliContext): Promise<0 | 1> {
  const client = await connectOperator(options, context)
  const event = await ask(client.events.get.query(options.raw === true ? { id, body: true } : { id }))
  const verified = options.verify ? await ask(client.events.reverify.query({ id })) : null
  if (options.json) {
    writeJson(context, toEventDocument(event, verified))
  } else if (options.raw) writeBody(event, context)
  else writeLines(context, describeEvent(event, verified))
  return verified?.valid === false ? 1 : 0
}

/** Writes the exact bytes to a file or a pipe. A terminal gets no control characters and no card numbers. */
function writeBody({ raw }: EventDetails, { write, writesToTerminal }: CliContext): void {
  const body = Buffer.from(raw ?? '', 'base64')
  if (!writesToTerminal) write(body)
  else for (const line of body.toString().split('\n')) write(`${toPrintable(maskCardNumbers(line))}\n`)
}

type EventDetails = Awaited<ReturnType<OperatorClient['events']['get']['query']>>

type Verification = Awaited<ReturnType<OperatorClient['events']['reverify']['query']>>

/** An event as JSON. It contains the body only if the operator API returned it. */
function toEventDocument({ raw, ...event }: EventDetails, verified: Verification | null): object {
  return { ...event, ...(raw === null ? {} : { raw }), ...(verified === null ? {} : { verified }) }
}

function describeEvent(event: EventDetails, verified: Verification | null): string[] {
  const lines: (readonly [name: string, value: string | null])[] = [
    ['Event', `${event.eventId} of ${event.provider}`],
    ['Type', event.type],
    ['Handler', event.handler || null],
    ['Test', event.test ? 'yes: an operator sent it' : null],
    ['Object', event.objectId],
    ['Order', event.orderId],
    ['State', event.reason === null ? event.state : `${event.state}: ${event.reason}`],
    ...describeReason(event.reason),
    ['Outcome', describeOutcome(event)],
    ['Last error', event.lastError === null ? null : `${event.lastError.code}: ${event.lastError.message}`],
    ['Received', `${toTime(event.receivedAt)}, ${describeDeliveries(event)}`],
    ['Due', event.dueAt === null ? null : toTime(event.dueAt)],
    ['Waits for', event.waitsFor ? `${event.waitsFor}, an earlier task of its line` : null],
    ['Not sent', event.notSent ? NOT_SENT[event.notSent] : null],
    ['Settled', event.settledAt === null ? null : toTime(event.settledAt)],
    ['Revived', event.revivals === 0 ? null : `${describeTimes(event.revivals)} by a repeated delivery`],
    ['Closed', describeClosing(event)],
    ['Signed with', `the secret ${event.secretId}`],
    ['Verified now', describeVerification(verified)],
    ['Headers', Array.from(Object.entries(event.headers), (header) => header.join(': ')).join(', ')],
    ['Body', event.notReadable ?? `${event.bytes} bytes (--raw prints them)`],
  ]
  return [
    ...lines.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(14)}${toPrintable(value)}`])),
    ...describeAttempts(event),
    ...describeReplays(event),
  ]
}

const NOT_SENT = {
  handler_removed: 'its handler is not in the setting',
  handler_paused: 'its handler is paused',
  provider_paused: 'its provider is paused',
}

function describeReason(reason: string | null): (readonly [name: string, value: string])[] {
  if (reason === null || !Object.hasOwn(EVENT_REASONS, reason)) return []
  const { why, cure } = EVENT_REASONS[reason as EventReason]
  return [
    ['Because', why],
    ['What to do', cure],
  ]
}

function describeOutcome({ outcome }: EventDetails): string | null {
  if (outcome === null) return null
  return outcome.version === null ? outcome.kind : `${outcome.kind}, order version ${outcome.version}`
}

function describeClosing({ closed }: EventDetails): string | null {
  return closed === null ? null : `${toTime(closed.at)} by ${closed.by}: ${closed.reason}`
}

function describeTimes(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function describeDeliveries({ deliveries, mismatches }: EventDetails): string {
  const times = describeTimes(deliveries)
  return mismatches === 0 ? times : `${times}, ${mismatches} of them with another body`
}

function describeVerification(verified: Verification | null): string | null {
  if (verified === null) return null
  return verified.valid
    ? `authentic, signed with the secret ${verified.secretId}`
    : `not authentic: ${verified.failure}`
}

function describeAttempts({ attempts }: EventDetails): string[] {
  if (attempts.length === 0) return []
  const rows = attempts.map(({ at, ms, outcome, code, message }) => [toTime(at), `${ms} ms`, outcome, code, message])
  return ['', ...toTableLines(['AT', 'DURATION', 'OUTCOME', 'CODE', 'MESSAGE'], rows)]
}

function describeReplays({ replays }: EventDetails): string[] {
  if (replays.length === 0) return []
  const rows = replays.map(({ at, by, reason, notRead }) => [
    ...[toTime(at), by, reason, notRead === null ? 'remapped' : `not remapped: ${notRead}`],
  ])
  return ['', ...toTableLines(['REPLAYED', 'BY', 'REASON', 'MAPPING'], rows)]
}

// The first digits exclude times in milliseconds.
const CANDIDATE = /(?<![\d.])(?:[3-6]\d|2[2-7])(?:[ -]?\d){11,17}(?!\d)/g
/** Each digit with four or more behind it. */
const HIDDEN = /\d(?=(?:\D*\d){4})/g

/** Masks card numbers except their last four digits: 13 to 19 digits, with spaces or hyphens, that pass the Luhn check. */
export function maskCardNumbers(text: string): string {
  return text.replace(CANDIDATE, (found) => (passesLuhn(found.replace(/\D/g, '')) ? found.replace(HIDDEN, '*') : found))
}

function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

const types = ['payment.succeeded', 'payment.failed'] as const

interface TestOptions {
  readonly type: (typeof types)[number]
  readonly order?: string
  readonly amount?: number
}

function addTest(group: Command, deps: CommandDeps): void {
  const command = group
    .command('test')
    .description('Send a test event: signed, verified and stored like a delivery, but without an effect.')
    .argument('<provider>', 'provider name, as in /api/webhooks/<name>')
    .addOption(new Option('--type <type>', 'what happened to the payment').choices(types).default(types[0]))
    .option(
      '--order <id>',
      'about this order (default: one that does not exist; with `npm start`, the newest pending one)',
    )
    .option(
      '--amount <number>',
      'in minor units (default: 1000 of EUR; with `npm start`, the amount due)',
      readWhole(1, 1_000_000_000),
    )
  addReasonedAction(command, deps, {
    call(client, { argument: provider, options, reason }: Reasoned<TestOptions>) {
      const { type, order: orderId, amount } = options
      return client.events.sendTest.mutate({ provider, type, orderId, amount, reason })
    },
    describe: ({ id, eventId, state, reason }) => [
      `Stored: ${eventId} is ${state}${reason === null ? '' : ` (${reason})`}. Show it with \`events show ${id}\``,
    ],
  })
}
