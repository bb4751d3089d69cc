import { hash, type KeyObject } from 'node:crypto'
import { isLoopback } from '@oncehook/kernel/http/client'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { readTextSource, type TextSources } from '@oncehook/kernel/settings/text-source'
import { isObject, secretTextProblem } from '@oncehook/webhooks/providers'
import type { z } from 'zod'
import { FULFILMENT } from '../../inbox/event-document.ts'
import { type HandlerEntry, handlersSchema } from './handlers-schema.ts'

/** A key that signs calls. */
export interface SigningKey {
  /** Names it in the setting. */
  readonly id: string
  readonly key: KeyObject
  /** Milliseconds. Null: it does not expire. */
  readonly notAfter: number | null
}

/** Where a handler is, and how it is called. */
export type HandlerPlace =
  | {
      readonly by: 'https'
      readonly url: URL
      readonly keys: readonly SigningKey[]
      /** Whether the name of the host may lead to a private address. */
      readonly mayBePrivate: boolean
    }
  | { readonly by: 'trpc'; readonly url: URL }

const BATCH = 50

/** All configured handlers by their names. */
export type Handlers = ReadonlyMap<string, HandlerSettings>

/** Which events a handler wants: of a provider, of these types, with these values in the body. */
export type WantedEvents = HandlerEntry['events'][number]

/** A configured handler. Times are in milliseconds. */
export interface HandlerSettings {
  readonly name: string
  readonly place: HandlerPlace
  /** It wants an event if one of these matches. */
  readonly events: readonly WantedEvents[]
  /** Calls of one process at a time. */
  readonly concurrency: number
  /** The most events in a call. */
  readonly batch: number
  /** Events of one process in a second. Null: no limit. */
  readonly ratePerSecond: number | null
  readonly timeoutMs: number
  /** How long an event may fail before it is dead. Null: as long as for fulfilment. */
  readonly maxAgeMs: number | null
  /** Its tasks run one after the other if the body has the same value here. Null: all of them run in no particular order. */
  readonly orderBy: string | null
  /** Whether a dead task blocks the later ones with the same value. */
  readonly blockOnDead: boolean
  readonly paused: boolean
  /** Differs if anything about the handler differs, its secrets included. */
  readonly fingerprint: string
}

/**
 * Reads the `HANDLERS` setting.
 * @throws SettingsError with every problem of every handler, quoting no value
 */
export function readHandlers(json: string, sources: TextSources): Handlers {
  const problems: string[] = []
  const handlers = new Map<string, HandlerSettings>()
  for (const [name, entry] of parseHandlers(json)) {
    const { keys, texts, problems: found } = readKeys(entry.secrets ?? [], sources)
    problems.push(...found.map((problem) => `HANDLERS.${name}.secrets: ${problem}`))
    handlers.set(name, toHandler(name, entry, { keys, texts }))
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return handlers
}

/**
 * Parses the `HANDLERS` setting, without reading the secrets that are elsewhere.
 * @throws SettingsError with every problem, quoting no value
 */
export function parseHandlers(json: string): ReadonlyMap<string, HandlerEntry> {
  const entries = parseSettingsJson('HANDLERS', json)
  if (isObject(entries) && Object.hasOwn(entries, FULFILMENT)) {
    throw new SettingsError([`HANDLERS.${FULFILMENT} is built in: remove it, or give your handler another name`])
  }
  const parsed = handlersSchema.safeParse(entries)
  if (!parsed.success) throw new SettingsError(parsed.error.issues.map(describeIssue))
  return new Map(Object.entries(parsed.data))
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const place = ['HANDLERS', ...issue.path.map(String)].join('.')
  const [said] = issue.code === 'invalid_key' ? issue.issues : [issue]
  const message = said?.message ?? issue.message
  return `${place} ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

interface ReadKeys {
  readonly keys: readonly SigningKey[]
  readonly texts: readonly string[]
}

function toHandler(name: string, entry: HandlerEntry, { keys, texts }: ReadKeys): HandlerSettings {
  const { https, trpc, events, concurrency, timeoutMs, paused, privateAddress } = entry
  const { batch = BATCH, ratePerSecond = null, maxAgeMs = null, orderBy = null, blockOnDead = false } = entry
  const url = new URL(https ?? trpc ?? '')
  const place: HandlerPlace =
    https === undefined
      ? { by: 'trpc', url }
      : { by: 'https', url, keys, mayBePrivate: privateAddress || isLoopback(url) }
  return {
    ...{ name, place, events, concurrency, ratePerSecond, timeoutMs, maxAgeMs, orderBy, blockOnDead, paused },
    batch: place.by === 'https' ? 1 : batch,
    fingerprint: hash('sha256', JSON.stringify([entry, texts])),
  }
}

type SecretEntry = NonNullable<HandlerEntry['secrets']>[number]

/** The secrets that can be used, and the problems of the others. */
function readKeys(given: readonly SecretEntry[], sources: TextSources): ReadKeys & { readonly problems: string[] } {
  const ids = given.map(({ id }) => id)
  const problems = ids.filter((id, at) => ids.indexOf(id) < at).map((id) => `secret ${id} is named twice`)
  const keys: SigningKey[] = []
  const texts: string[] = []
  for (const secret of given) {
    const read = readKey(secret, sources)
    if (typeof read === 'string') problems.push(`secret ${secret.id} ${read}`)
    else {
      keys.push({ id: secret.id, key: read.key, notAfter: read.notAfter })
      texts.push(read.text)
    }
  }
  return { keys, texts, problems }
}

/** A key and its text, or why it cannot be used, as a clause. */
function readKey(
  { value, notAfter }: SecretEntry,
  sources: TextSources,
): (Omit<SigningKey, 'id'> & { readonly text: string }) | string {
  const text = readTextSource(value, sources)
  if (text === null) return 'cannot be read'
  const problem = secretTextProblem(text)
  if (problem !== null) return problem
  const key = readWebhookKey(text)
  if (key === null) return 'is not whsec_ followed by the base64 of 24 to 64 bytes'
  return { key, notAfter: notAfter === undefined ? null : Date.parse(notAfter), text }
}
