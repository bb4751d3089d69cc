import { hash, type KeyObject } from 'node:crypto'
import { isLoopback } from '@oncehook/kernel/http/client'
import type { Logger } from '@oncehook/kernel/log/logger'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import {
  createFileSource,
  type FileSource,
  type WatchedSource,
  watchSource,
} from '@oncehook/kernel/settings/file-source'
import { parseSettingsJson, readSetting, SettingsError, textSetting } from '@oncehook/kernel/settings/settings'
import { readTextSource, type TextSources, textSource, textsOf } from '@oncehook/kernel/settings/text-source'
import { alternativesSchema, isObject, pointerSchema, secretTextProblem } from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { FULFILMENT } from '../inbox/event-document.ts'

export interface SigningKey {
  readonly id: string
  readonly key: KeyObject
  /** Milliseconds. Null: it does not expire. */
  readonly notAfter: number | null
}

export type HandlerPlace =
  | {
      readonly by: 'https'
      readonly url: URL
      readonly keys: readonly SigningKey[]
      readonly mayBePrivate: boolean
    }
  | { readonly by: 'trpc'; readonly url: URL }

const BATCH = 50

export type Handlers = ReadonlyMap<string, HandlerSettings>

export type WantedEvents = HandlerEntry['events'][number]

/** A configured handler. Times are in milliseconds. */
export interface HandlerSettings {
  readonly name: string
  readonly place: HandlerPlace
  readonly events: readonly WantedEvents[]
  readonly concurrency: number
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

/** @throws SettingsError with every problem of every handler, quoting no value */
export function readHandlers(json: string, sources: TextSources): Handlers {
  const problems: string[] = []
  const handlers = new Map<string, HandlerSettings>()
  for (const [name, entry] of parseHandlers(json)) {
    const { keys, texts, problems: found } = readKeys(entry.secrets ?? [], sources)
    problems.push(...found.map((problem) => `HANDLERS.${name}.secrets: ${problem}`))
    for (const [at, text] of texts.entries()) sources.onSecret?.(`HANDLERS.${name}.secrets.${keys[at]?.id}`, text)
    handlers.set(name, toHandler(name, entry, { keys, texts }))
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return handlers
}

/** Does not read the secrets that are elsewhere. @throws SettingsError with every problem, quoting no value */
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
  const { ratePerSecond = null, maxAgeMs = null, orderBy = null, blockOnDead = false } = entry
  const url = new URL(https ?? trpc ?? '')
  const place: HandlerPlace =
    https === undefined
      ? { by: 'trpc', url }
      : { by: 'https', url, keys, mayBePrivate: privateAddress || isLoopback(url) }
  return {
    ...{ name, place, events, concurrency, ratePerSecond, timeoutMs, maxAgeMs, orderBy, blockOnDead, paused },
    batch: entry.batch ?? (place.by === 'https' ? 1 : BATCH),
    fingerprint: hash('sha256', JSON.stringify([entry, texts])),
  }
}

type SecretEntry = NonNullable<HandlerEntry['secrets']>[number]

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

const DAY_MS = 86_400_000

const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
  error: 'must have 1 to 63 of the characters a-z, 0-9 and -, and not begin with -',
})
// An asterisk anywhere else would look as if it could match a part of a name.
const typePattern = z
  .string()
  .max(255)
  .regex(/^(?:\*|[^*]+\.\*|[^*]+)$/, { error: 'must be a type, or end in .* as in customer.subscription.*, or be *' })

const eventsSchema = z.strictObject({
  provider: name.optional(),
  types: z.array(typePattern).min(1).max(100),
  where: alternativesSchema.optional(),
})

const secretsSchema = z
  .array(
    z.strictObject({
      id: z.string().min(1).max(64),
      value: textSource,
      notAfter: z.iso.datetime({ offset: true }).optional(),
    }),
  )
  .min(1)
  .max(3)

const whole = (min: number, max: number) => z.number().int().min(min).max(max)

const handlerShape = z.strictObject({
  trpc: z.string().optional(),
  https: z.string().optional(),
  privateAddress: z.boolean().default(false),
  secrets: secretsSchema.optional(),
  events: z.array(eventsSchema).min(1).max(100),
  concurrency: whole(1, 64).default(8),
  batch: whole(1, 500).optional(),
  ratePerSecond: whole(1, 100_000).optional(),
  timeoutMs: whole(100, 60_000).default(10_000),
  maxAgeMs: whole(1_000, 30 * DAY_MS).optional(),
  orderBy: pointerSchema.optional(),
  blockOnDead: z.boolean().optional(),
  paused: z.boolean().default(false),
})

/** A handler as the setting describes it. Its secrets may be elsewhere. */
type HandlerEntry = z.output<typeof handlerShape>

// Each handler has a dispatcher in every process, with its own calls and bodies.
const MOST_HANDLERS = 32

const handlersSchema = z
  .record(
    name,
    handlerShape.superRefine((handler, context) => {
      for (const message of [...problemsOf(handler), ...orderingProblemsOf(handler)])
        context.addIssue({ code: 'custom', message })
    }),
  )
  .refine((handlers) => Object.keys(handlers).length <= MOST_HANDLERS, {
    error: `must have at most ${MOST_HANDLERS} handlers`,
  })

type Place = Pick<HandlerEntry, 'trpc' | 'https' | 'secrets' | 'privateAddress'>
type Ordering = Pick<HandlerEntry, 'orderBy' | 'blockOnDead'>

const SECRETS_LINE = '"secrets": [{ "id": "1", "value": { "env": "<NAME>" } }]'

/** Each is a clause, and says which line to write or to remove. */
function problemsOf({ trpc, https, secrets, privateAddress }: Place): string[] {
  if ((trpc === undefined) === (https === undefined)) {
    return ['needs either "https": "https://<host>/<path>" or "trpc": "http://<host>:<port>/<path>"']
  }
  if (trpc !== undefined) {
    return [
      ...(isAddress(trpc, ['http:', 'https:']) ? [] : ['trpc must be a URL with http or https, without a password']),
      ...(secrets === undefined ? [] : ['secrets are for https: calls of trpc have a service token, remove the line']),
      ...(privateAddress ? ['privateAddress is for https: remove the line'] : []),
    ]
  }
  return [
    ...(secrets === undefined ? [`secrets is required with https: add ${SECRETS_LINE}`] : []),
    ...(https !== undefined && isSafe(https) ? [] : [HTTPS_PROBLEM]),
  ]
}

function orderingProblemsOf({ orderBy, blockOnDead }: Ordering): string[] {
  const isAlone = blockOnDead !== undefined && orderBy === undefined
  return isAlone ? ['blockOnDead is for orderBy: add "orderBy": "/<JSON Pointer>", or remove the line'] : []
}

const HTTPS_PROBLEM =
  'https must be a URL that begins with https://, without a password (http:// for this machine only)'

function isSafe(text: string): boolean {
  const url = URL.parse(text)
  return isAddress(text, ['http:', 'https:']) && url !== null && (url.protocol === 'https:' || isLoopback(url))
}

function isAddress(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && url.username === '' && url.password === ''
}

export interface HandlersSource extends FileSource<Handlers> {
  /** Whether the setting is set, even if it names no handler yet. If not, there is none, now and later. */
  readonly isSet: boolean
}

/** Creates the source of the `HANDLERS` setting: its file, and the files of secrets that it names. */
export function createHandlersSource(env: NodeJS.ProcessEnv): HandlersSource {
  const isSet = [env.HANDLERS, env.HANDLERS_FILE].some((text) => text !== undefined && text !== '')
  const source = createFileSource<Handlers>(
    (readFile) =>
      isSet ? readHandlers(readSetting('HANDLERS', textSetting(), env), textsOf(env, readFile)) : new Map(),
    { env, names: ['HANDLERS'] },
  )
  return { ...source, isSet }
}

/** Calls `onChanged` before the next event is stored. @throws SettingsError when the first content is wrong */
export function watchHandlers(
  source: FileSource<Handlers>,
  logger: Logger,
  onChanged: (handlers: Handlers) => void,
): WatchedSource<Handlers> {
  return watchSource(source, {
    onChanged(handlers) {
      logger.info({ handlers: [...handlers.keys()] }, 'handlers.changed')
      onChanged(handlers)
    },
    onRefused: (problems) => logger.error({ problems }, 'handlers.refused'),
  })
}
