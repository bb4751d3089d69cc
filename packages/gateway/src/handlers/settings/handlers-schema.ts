import { isLoopback } from '@oncehook/kernel/http/client'
import { textSource } from '@oncehook/kernel/settings/text-source'
import { alternativesSchema, pointerSchema } from '@oncehook/webhooks/providers'
import { z } from 'zod'

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
export type HandlerEntry = z.output<typeof handlerShape>

// Each handler has a dispatcher in every process, with its own calls and bodies.
const MOST_HANDLERS = 32

/** The setting `HANDLERS`: each handler by its name. */
export const handlersSchema = z
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

type Place = Pick<HandlerEntry, 'trpc' | 'https' | 'secrets' | 'batch' | 'privateAddress'>
type Ordering = Pick<HandlerEntry, 'orderBy' | 'blockOnDead'>

const SECRETS_LINE = '"secrets": [{ "id": "1", "value": { "env": "<NAME>" } }]'

/** Each is a clause, and says which line to write or to remove. */
function problemsOf({ trpc, https, secrets, batch, privateAddress }: Place): string[] {
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
    ...(batch === undefined ? [] : ['batch is for trpc: with https, a call has one event, remove the line']),
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
