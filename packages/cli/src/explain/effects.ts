// What an accepted delivery leads to: its events, why one has no effect, who gets a task of it, and what the pointers of the
// settings find.

import { parseHandlers, type WantedEvents } from '@oncehook/gateway/handlers/handler-settings'
import { FULFILMENT } from '@oncehook/gateway/inbox/event-document'
import { forNobodyBecause, type Mismatch, prepareMismatches } from '@oncehook/gateway/webhooks/find-wanting'
import { parseJson } from '@oncehook/kernel/http/json'
import {
  firstUnmet,
  type Meaning,
  PAYMENT_EVENT_TYPES,
  type ProviderSettings,
  pointersOf,
  pointersOfMapping,
  resolvePointer,
  SCHEMES,
  unhandledReason,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { type CliContext, UsageError } from '../command.ts'
import { EVENT_REASONS, type EventReason } from '../event-reasons.ts'
import { readGivenFile } from '../options/option-values.ts'
import { toPrintable } from '../output.ts'
import { type GivenCase, prepareVerifier } from '../verify/known-providers.ts'

/** Why the gateway answers 400 to a delivery although its signature holds. */
export interface InvalidBody {
  readonly code: string
  readonly message: string
  readonly fix: string
}

/** What the gateway reads in an authentic delivery. */
type ExplainedReading =
  | { readonly events: readonly WebhookEvent[]; readonly isConfirmed: boolean }
  | { readonly invalid: InvalidBody }

/**
 * The events of an authentic delivery, as the gateway reads them. None if it has to query the provider first.
 * @throws UsageError if the gateway would not start with these settings
 */
export async function readExplainedEvents(given: GivenCase): Promise<ExplainedReading> {
  const { asked, delivery, now, fetch } = given
  const provider = prepareVerifier(asked)
  if (provider.confirm !== undefined) return { events: [], isConfirmed: true }
  const verdict = await provider.verify(delivery, now, fetch)
  if ('refused' in verdict) return { events: [], isConfirmed: false }
  try {
    const events = provider.answerHandshake(verdict) === null ? provider.readEvents(verdict) : []
    return { events, isConfirmed: false }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return { invalid: { code: String(error.code), message: error.message, fix: fixOf(provider.refusesUnreadable) } }
  }
}

function fixOf(refusesUnreadable: boolean): string {
  return refusesUnreadable
    ? 'Let the sender send this shape, or say in `read` of the provider where the values are: then nothing authentic is refused'
    : 'Look at the body: its signature covers a checksum only, so a body that nobody can read proves nothing'
}

/** Why an authentic delivery has no effect. */
export interface Withheld {
  readonly reason: EventReason
  /** The first property that is not as expected, as a JSON Pointer. */
  readonly pointer?: string
}

/** Why events have no effect, each reason once. */
export function findWithheld(
  events: readonly WebhookEvent[],
  given: Pick<GivenCase, 'asked' | 'delivery'>,
): readonly Withheld[] {
  const found = events.flatMap((event): Withheld[] => {
    const reason = unhandledReason(event) ?? event.facts.unreadable
    if (reason === undefined) return []
    return [{ reason, ...(reason === 'not_expected' ? unexpectedPart(event, given) : {}) }]
  })
  return [...new Map(found.map((one) => [`${one.reason} ${one.pointer}`, one])).values()]
}

function unexpectedPart(
  { facts }: WebhookEvent,
  { asked: { settings }, delivery }: Pick<GivenCase, 'asked' | 'delivery'>,
): Pick<Withheld, 'pointer'> {
  const expected = { ...SCHEMES.get(settings.scheme)?.permits.expect?.(settings), ...settings.expect }
  const document = resolvePointer(parseJson(delivery.rawBody.toString()), facts.pointer ?? '')
  const pointer = firstUnmet(document, expected)
  return pointer === null ? {} : { pointer }
}

const UNREADABLE: ReadonlySet<EventReason> = new Set(['amount_missing', 'amount_mismatch', 'currency_mismatch'])

/** The lines for a reason: in words, and what to do. */
export function describeWithheld({ reason, pointer }: Withheld): string[] {
  const { why, cure } = EVENT_REASONS[reason]
  const where = pointer === undefined ? '' : `, here because of ${toPrintable(pointer)}`
  const result = UNREADABLE.has(reason) ? 'It will be dead' : 'No effect on an order'
  return [`${result}: ${why}${where} (${reason})`, `  ${cure}`]
}

/** Why a handler gets no task: each entry of its `events` differs from the event, or `expect` of the provider does. */
interface Unwanted {
  readonly handler: string
  readonly entries: readonly Mismatch[] | NonNullable<ReturnType<typeof forNobodyBecause>>
}

/** Which handlers get a task of an event, and why the others do not. */
export interface ExplainedTasks {
  readonly eventId: string
  readonly type: string
  readonly handlers: readonly string[]
  readonly unwanted: readonly Unwanted[]
}

export type HandlerWishes = ReadonlyMap<string, { readonly events: readonly WantedEvents[] }>

/**
 * The handlers of the settings: of this file, of HANDLERS_FILE, or of HANDLERS. Null if none of them is set.
 * @throws UsageError if they cannot be read
 */
export async function readWishes(
  file: string | undefined,
  { readEnv }: Pick<CliContext, 'readEnv'>,
): Promise<HandlerWishes | null> {
  const setting = file === undefined ? readEnv('HANDLERS_FILE') || undefined : undefined
  const path = file ?? setting
  const json = path === undefined ? readEnv('HANDLERS') : (await readGivenFile(path)).toString()
  if (!json) return null
  try {
    return parseHandlers(json)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const named = setting === undefined ? why : why.replaceAll(/\bHANDLERS\b/g, 'HANDLERS_FILE')
    throw new UsageError(`The gateway would not start: ${named}`, { cause: error })
  }
}

export function findTasks(
  wishes: HandlerWishes,
  { asked, delivery }: GivenCase,
  events: readonly WebhookEvent[],
): readonly ExplainedTasks[] {
  const mismatchesOf = prepareMismatches({ provider: asked.name, rawBody: delivery.rawBody })
  return events.map((event) => {
    const { id: eventId, type, facts } = event
    const looked = [...wishes].map(([handler, wish]) => ({
      handler,
      entries: forNobodyBecause(event) ?? mismatchesOf(event, wish.events),
    }))
    const wanting = looked.filter(({ entries }) => entries === null).map(({ handler }) => handler)
    const unwanted = looked.flatMap(({ handler, entries }) => (entries === null ? [] : [{ handler, entries }]))
    const isPayment = PAYMENT_EVENT_TYPES.some((one) => one === type) && facts.withheld === undefined
    return { eventId, type, handlers: [...(isPayment ? [FULFILMENT] : []), ...wanting], unwanted }
  })
}

/** Lines that say who gets a task, and why the others do not. */
export function describeTasks(tasks: readonly ExplainedTasks[]): string[] {
  return tasks.flatMap(({ eventId, type, handlers, unwanted }) => [
    `Event ${toPrintable(eventId)} of the type ${toPrintable(type)}: ${
      handlers.length === 0 ? 'no handler gets a task' : `tasks for ${handlers.join(', ')}`
    }`,
    ...unwanted.map(({ handler, entries }) => `- not for ${handler}: ${describeEntries(entries)}`),
  ])
}

function describeEntries(entries: Unwanted['entries']): string {
  if (typeof entries === 'string') return EVENT_REASONS[entries].why
  if (entries.length === 1) return entries.map(describeMismatch).join('')
  return entries.map((one, index) => `entry ${index + 1} of its events: ${describeMismatch(one)}`).join('; ')
}

function describeMismatch(mismatch: Mismatch): string {
  if (mismatch.differs === 'where') return `it wants another value at ${toPrintable(mismatch.pointer)}`
  return mismatch.differs === 'provider' ? 'it wants another provider' : 'it wants other types'
}

const MOST_SHOWN = 80

/** Lines that say what each pointer of the settings finds in each event of a body. None if the body is no JSON. */
export function describeMapping(
  { read = {}, events: meanings = {} }: Pick<ProviderSettings, 'read' | 'events'>,
  events: readonly WebhookEvent[],
  rawBody: Buffer,
): string[] {
  const body = parseJson(rawBody.toString())
  if (body === undefined) return []
  return events.flatMap(({ facts: { pointer = '' } }) => {
    const document = resolvePointer(body, pointer)
    const lineOf = (name: string, path: string): string =>
      `${name} at ${path}: ${shown(resolvePointer(document, path))}`
    return [
      ...pointersOfMapping(read).map(([name, path]) => lineOf(`read.${name}`, path)),
      ...Object.entries(meanings).flatMap(([type, meaning]) =>
        conditionsOf(meaning).map((path) => lineOf(`events of ${toPrintable(type)}, where`, path)),
      ),
    ]
  })
}

function conditionsOf(meaning: Meaning): string[] {
  return typeof meaning === 'string' ? [] : pointersOf(meaning.where)
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : toPrintable(JSON.stringify(value).slice(0, MOST_SHOWN))
}
