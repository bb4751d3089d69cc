import { parsePublicKeys } from '@oncehook/kernel/secrets/service-key-pem'
import { createServiceTokenVerifier, type ServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import { PROCEDURE } from './answer-call.ts'

/** How Oncehook's gateway calls the handler by `trpc`. */
export interface TrpcOptions {
  /**
   * The public keys of the gateway, which verify its service tokens: one to five Ed25519 keys in PEM, one after the other, so
   * that an old and a new one can be valid at the same time. They are no secret.
   */
  readonly publicKeys: string
  /** The name of the handler in the settings of the gateway, for which its tokens are. Default: `name`. */
  readonly audience?: string
  /** The path that `listen` serves: the end of the URL in the settings of the gateway. Default: `/trpc`. */
  readonly path?: string
  /** The largest body of a call, in bytes. Default: 8,388,608. */
  readonly maxBytes?: number
  /**
   * When a call is answered at the latest, in milliseconds after its body. Events that are not done by then are answered
   * `later`, and continue. Keep it below `timeoutMs` in the settings of the gateway. Default: 9,000.
   */
  readonly answerMs?: number
}

/** @internal */
export interface CheckedTrpc {
  readonly verify: ServiceTokenVerifier
  readonly audience: string
  readonly path: string
  readonly maxBytes: number
  readonly answerMs: number
}

const MOST_BYTES = 67_108_864
const MOST_ANSWER_MS = 600_000
const PATH = /^\/[^?#\s]*$/

/**
 * What the other options of the handler say.
 * @internal
 */
interface TrpcSurroundings {
  readonly name: string
  /** The path for deliveries by `https`. */
  readonly path: string
  readonly mostBodyBytes: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Checks the options of calls by `trpc`, and adds the defaults. Returns the problems, without secrets, if there are any.
 * @internal
 */
export function checkTrpcOptions(
  { publicKeys, audience, path = '/trpc', maxBytes = 8_388_608, answerMs = 9_000 }: TrpcOptions,
  { name, now, path: other, mostBodyBytes }: TrpcSurroundings,
): CheckedTrpc | readonly string[] {
  const keys = typeof publicKeys === 'string' ? parsePublicKeys(publicKeys) : 'is not a text'
  const problems = [
    ...(typeof keys === 'string' ? [`trpc.publicKeys ${keys}`] : []),
    ...(PATH.test(path) ? [] : ['trpc.path must start with /']),
    ...(other === `${path.replace(/\/$/, '')}/${PROCEDURE}` ? ['trpc.path leads to the same path as path'] : []),
    ...(audience === undefined || isName(audience) ? [] : ['trpc.audience must be a text of 1 to 255 characters']),
    ...rangeProblems('maxBytes', maxBytes, [1, MOST_BYTES]),
    ...rangeProblems('answerMs', answerMs, [10, MOST_ANSWER_MS]),
  ]
  if (typeof keys === 'string' || problems.length > 0) return problems
  const rules = { issuer: 'gateway', audience: audience ?? name, clock: { now } }
  const verify = createServiceTokenVerifier({ ...rules, keys: () => keys })
  // A body that never finds room would be tried again forever. The gateway halves one that is too large.
  return {
    verify,
    audience: rules.audience,
    path: path.replace(/\/$/, ''),
    maxBytes: Math.min(maxBytes, mostBodyBytes),
    answerMs,
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= 255
}

type Range = readonly [least: number, most: number]

function rangeProblems(name: string, value: number, [least, most]: Range): readonly string[] {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return []
  return [`trpc.${name} must be a whole number from ${least} to ${most}`]
}
