import { readFile } from 'node:fs/promises'
import { forNobodyBecause, type Mismatch, prepareMismatches } from '@oncehook/gateway/handlers/events/find-wanting'
import { FULFILMENT, parseHandlers, type WantedEvents } from '@oncehook/gateway/handlers/settings/read-handlers'
import { PAYMENT_EVENT_TYPES, type WebhookEvent } from '@oncehook/webhooks/providers'
import type { CliContext } from '../cli-context.ts'
import { EVENT_REASONS } from '../event-reasons.ts'
import { UsageError } from '../exit-code.ts'
import { toPrintable } from '../output.ts'

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

/** The events that each handler wants, by its name. */
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
  const json = path === undefined ? readEnv('HANDLERS') : await readText(path)
  if (!json) return null
  try {
    return parseHandlers(json)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const named = setting === undefined ? why : why.replaceAll(/\bHANDLERS\b/g, 'HANDLERS_FILE')
    throw new UsageError(`The gateway would not start: ${named}`, { cause: error })
  }
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be read`, { cause: error })
  })
}

/** A delivery that was accepted, with its events. */
interface Accepted {
  readonly provider: string
  readonly rawBody: Uint8Array
  readonly events: readonly WebhookEvent[]
}

/** Finds out who gets a task of each event. */
export function findTasks(wishes: HandlerWishes, { provider, rawBody, events }: Accepted): readonly ExplainedTasks[] {
  const mismatchesOf = prepareMismatches({ provider, rawBody })
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
