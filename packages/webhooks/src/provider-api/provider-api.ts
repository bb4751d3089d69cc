import { isLoopback, readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { secretProblem } from '@oncehook/kernel/secrets/secret'
import { z } from 'zod'
import { isObject, type JsonObject, readJson } from '../events/json-object.ts'
import { SharedQuestions } from './shared-questions.ts'

/** The URL and the token of a provider's API: https, or plain http to loopback only. */
export const fetchSettings = z.strictObject({
  baseUrl: z
    .string()
    .max(2_048)
    .refine(isApiBase, { error: 'must be an https URL (http to loopback only) without user, query or fragment' }),
  token: z.string().refine((token) => secretProblem(token, 1) === null && /^[\x21-\x7e]+$/.test(token), {
    error: 'must be a token: not empty, not a placeholder, without whitespace',
  }),
})

export type FetchSettings = z.output<typeof fetchSettings>

function isApiBase(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  const { protocol, username, password, search, hash } = url
  if (`${username}${password}${search}${hash}` !== '' || /[?#]/.test(text)) return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(url))
}

/** One object of a provider's API. */
export interface ApiQuestion {
  /** The segments of the path below the base URL. They may contain any characters. */
  readonly path: readonly string[]
  /** The header that carries the token. Default: `Authorization: Bearer`. */
  readonly tokenHeader?: (token: string) => Readonly<Record<string, string>>
  /** The least time between questions about the same object, in milliseconds. Default: each starts when the last one ends. */
  readonly everyMs?: number
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_048_576
// Any sender can cause these questions, so their number is limited; beyond it the provider delivers again.
const LIMITS = { most: 64, mostWaiting: 256 }
const askedOf = new WeakMap<FetchSettings, SharedQuestions<JsonObject | null>>()

/**
 * Reads one JSON object from a provider's API, within 5 s and 1 MiB, without following redirects, 64 at once. Null if the
 * object does not exist (404, 410). Calls for the same object share a question that starts after them.
 * @throws overloaded if too many questions are in progress, unavailable for everything else
 */
export function readFromApi(
  settings: FetchSettings,
  question: ApiQuestion,
  fetch: typeof globalThis.fetch,
): Promise<JsonObject | null> {
  const questions = askedOf.get(settings) ?? new SharedQuestions<JsonObject | null>(LIMITS)
  askedOf.set(settings, questions)
  const { path, everyMs = 0 } = question
  return questions.ask({ thing: JSON.stringify(path), everyMs, put: () => ask(settings, question, fetch) })
}

async function ask(
  { baseUrl, token }: FetchSettings,
  { path, tokenHeader = (text) => ({ Authorization: `Bearer ${text}` }) }: ApiQuestion,
  fetch: typeof globalThis.fetch,
): Promise<JsonObject | null> {
  // A segment of dots would lead upwards, even if it is escaped.
  if (path.some((segment) => /^\.{0,2}$/.test(segment))) return null
  const url = `${baseUrl.replace(/\/+$/, '')}/${path.map(encodeURIComponent).join('/')}`
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json', ...tokenHeader(token) },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = await readCapped(response, MAX_BYTES)
    if (response.status === 404 || response.status === 410) return null
    if (response.status !== 200) throw unavailable({ reason: 'provider_answered', providerStatus: response.status })
    const value = readJson(body)
    if (!isObject(value)) throw unavailable({ reason: 'provider_answer_unreadable' })
    return value
  } catch (error) {
    if (unavailable.is(error)) throw error
    throw unavailable({ reason: 'provider_not_reached' }, { cause: error })
  }
}
