// One call of a contract, as the gateway would make it: its state, its task with new ids, its signature, and the request.

import { createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { readCapped } from '@oncehook/kernel/http/client'
import { parseJson } from '@oncehook/kernel/http/json'
import { SigningError } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import type { CliContext } from '../command.ts'
import type { CalledBy, Interaction } from './published-contracts.ts'
import type { GivenAnswer } from './verify-handler.ts'

/** A call of the gateway to a handler, before it is signed. */
export interface PlannedCall {
  /** A task for `https`; the input with a list of tasks for `trpc`. */
  readonly body: Readonly<Record<string, unknown>>
  /** What signs it: secrets of Standard Webhooks, or for `trpc` one private key in PEM. */
  readonly secrets: readonly string[]
  /** Milliseconds since 1970. */
  readonly signedAt: number
  /** The service that the token is for. */
  readonly audience: string
  /** The same call is sent once before. */
  readonly isRepeated: boolean
  /** Its JSON is written with spaces and escapes. */
  readonly hasSpaces: boolean
}

const HOUR_MS = 3_600_000
const OTHER_KEY = generateKeyPairSync('ed25519').privateKey
const OTHER_SECRET = `whsec_${Buffer.from('a secret of somebody else, 32 by').toString('base64')}`

type Change = (call: PlannedCall, parameters: Readonly<Record<string, unknown>>) => PlannedCall

const CHANGES: Readonly<Record<string, Change>> = {
  'the task is new': (call) => call,
  'the handler does not know the type': (call) => call,
  'the delivery is not JSON': (call) => call,
  'the task was sent before': (call) => ({ ...call, isRepeated: true }),
  'the provider writes JSON with spaces and escapes': (call) => ({ ...call, hasSpaces: true }),
  'the body is large': (call, { bytes }) => ({ ...call, body: pad(call.body, Number(bytes)) }),
  'the sender signs with a new and an old secret': (call) => ({ ...call, secrets: [OTHER_SECRET, ...call.secrets] }),
  'the sender has another secret': (call) => ({ ...call, secrets: [OTHER_SECRET] }),
  'the sender signed an hour ago': (call) => ({ ...call, signedAt: call.signedAt - HOUR_MS }),
  'the token is for another service': (call) => ({ ...call, audience: 'another' }),
}

/** The states that the caller of a handler creates: by how the call is written, signed or sent. */
export const CALLER_STATES: readonly string[] = Object.keys(CHANGES)

/** A call as it is in a state. A state of the handler changes nothing. */
export function inState(
  call: PlannedCall,
  { name, params = {} }: { readonly name: string; readonly params?: Readonly<Record<string, unknown>> },
): PlannedCall {
  return CHANGES[name]?.(call, params) ?? call
}

function pad(body: PlannedCall['body'], bytes: number): PlannedCall['body'] {
  const padded = (task: unknown): object => {
    const known = task as { readonly body?: object }
    return { ...known, body: { ...known.body, padding: 'x'.repeat(bytes) } }
  }
  const { events } = body
  return Array.isArray(events) ? { ...body, events: events.map(padded) } : { ...padded(body) }
}

interface HandlerIdentity {
  /** Its name in `HANDLERS`. */
  readonly name: string
  readonly type: string
  readonly provider: string
  /** The body of such an event. Null: that of the contract. */
  readonly body: Readonly<Record<string, unknown>> | null
  /** A JSON Pointer: where the body has the id of its object. */
  readonly objectId: string
  readonly secret: string
}

/** The type of the contract that no handler knows. It is sent as it is. */
const UNKNOWN_TYPE = 'contract.unknown'

/**
 * Writes the call of an interaction for a handler. Its events and their objects have new ids, so that the command can be
 * repeated, and no event is about the object of another one.
 */
function planCall(interaction: Interaction, handler: HandlerIdentity, { now, randomId }: CallTarget): PlannedCall {
  const { content } = interaction.request.body
  const adapt = (task: unknown): Task => adaptTask(task as Task, handler, `contract_${randomId()}`)
  const body = Array.isArray(content.events)
    ? { ...content, handler: handler.name, events: content.events.map(adapt) }
    : adapt(content)
  const { name: audience, secret } = handler
  const usual = { body, secrets: [secret], signedAt: now(), audience, isRepeated: false, hasSpaces: false }
  return interaction.providerStates.reduce<PlannedCall>(inState, usual)
}

type Task = Readonly<Record<string, unknown>>

function adaptTask(task: Task, handler: HandlerIdentity, made: string): Task {
  const { name, provider } = handler
  const type = task.type === UNKNOWN_TYPE ? UNKNOWN_TYPE : handler.type
  const body = structuredClone(handler.body ?? { ...Object(task.body), type })
  const event = idAt(body, '/id')
  const eventId = event?.renew(made) ?? made
  const objectId = idAt(body, handler.objectId)?.renew(made) ?? (handler.body === null ? `sub_${made}` : undefined)
  const ids = { key: `${provider}:${eventId}:${name}`, provider, eventId, type, objectId }
  return task.body === undefined ? { ...task, ...ids } : { ...task, ...ids, body }
}

/** The id at a JSON Pointer into a body. Null if there is none. */
export function idAt(body: object, pointer: string): { renew(made: string): string } | null {
  const names = pointer.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = names.pop() ?? ''
  const place = names.slice(1).reduce<unknown>((at, name) => Object(at)[name], body)
  if (typeof place !== 'object' || place === null || !Object.hasOwn(place, last)) return null
  const members = place as Record<string, unknown>
  const id = members[last]
  if (typeof id !== 'string' && typeof id !== 'number') return null
  return {
    renew(made) {
      const renewed = typeof id === 'number' ? numberOf(made) : likeThat(id, made)
      members[last] = renewed
      return String(renewed)
    },
  }
}

/** Some handlers tell kinds of objects by the beginning of their ids: `sub_`, `pi_`. */
function likeThat(id: string, made: string): string {
  return `${/^[a-z]+_/i.exec(id)?.[0] ?? ''}${made}`
}

/** A whole number that JavaScript has exactly. */
function numberOf(made: string): number {
  return Number.parseInt(hash('sha256', made).slice(0, 13), 16)
}

export interface SignedCall {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Signs a call as the gateway does. It shares no code with the gateway, so that a change of the gateway's signatures or
 * tokens does not change what handlers are checked against.
 * @throws SigningError if the secret is not one of Standard Webhooks
 */
export function signCall(by: CalledBy, call: PlannedCall, newId: () => string): SignedCall {
  const text = call.hasSpaces ? JSON.stringify(call.body, null, 2).replaceAll('/', '\\/') : JSON.stringify(call.body)
  if (by === 'https') return { text, headers: signStandard(call, text) }
  return { text, headers: { authorization: `Bearer ${tokenOf(call, text, newId())}` } }
}

function signStandard({ body, secrets, signedAt }: PlannedCall, text: string): Record<string, string> {
  const signer = signers.get('standard-webhooks')
  if (signer === undefined) throw new SigningError('Standard Webhooks is unknown')
  const request = { body: Buffer.from(text), now: signedAt, eventId: String(body.key ?? 'batch_1') }
  const signed = secrets.map((secret) => Object.fromEntries(signer.sign({ ...request, secret })))
  return { ...signed[0], 'webhook-signature': signed.map((one) => one['webhook-signature']).join(' ') }
}

const PROCEDURE = 'events.handle'
const LIFETIME_SECONDS = 60

/** A service token (docs/reference/handlers.md, "Calls by trpc"). */
function tokenOf({ secrets, signedAt, audience }: PlannedCall, text: string, jti: string): string {
  const iat = Math.floor(signedAt / 1_000)
  const claims = {
    ...{ iss: 'gateway', aud: audience, iat, exp: iat + LIFETIME_SECONDS },
    ...{ jti, proc: PROCEDURE, bsh: hash('sha256', text, 'base64url') },
  }
  const head = { alg: 'EdDSA', typ: 'oncehook-call+jwt' }
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign(null, Buffer.from(signed), keyOf(secrets)).toString('base64url')}`
}

function keyOf([secret = '']: readonly string[]): KeyObject {
  return secret === OTHER_SECRET ? OTHER_KEY : createPrivateKey(secret)
}

export interface CallTarget extends Pick<CliContext, 'now' | 'randomId' | 'fetch'> {
  readonly by: CalledBy
  readonly url: string
  readonly handler: HandlerIdentity
  /** By `https`: it is ready for calls with several tasks. */
  readonly takesBatches: boolean
  readonly timeoutMs: number
}

/**
 * Sends the call of an interaction, and before it the same call if the state says so. If that one is not accepted, its answer
 * is the answer.
 * @throws SigningError if the secret cannot sign
 * @throws Error if there is no answer
 */
export async function sendInteraction(target: CallTarget, interaction: Interaction): Promise<GivenAnswer> {
  const call = planCall(interaction, target.handler, target)
  if (call.isRepeated) {
    const first = await send(target, interaction, call)
    if (first.status < 200 || first.status > 299) return first
  }
  return send(target, interaction, call)
}

const MOST_BYTES = 1_048_576

async function send(
  { by, url, fetch, timeoutMs, randomId }: CallTarget,
  { request }: Interaction,
  call: PlannedCall,
): Promise<GivenAnswer> {
  const { text, headers } = signCall(by, call, randomId)
  const attempt = request.headers['oncehook-attempt']?.[0]
  const response = await fetch(by === 'https' ? url : `${url.replace(/\/+$/, '')}/events.handle`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', ...headers },
      ...(attempt === undefined ? {} : { 'oncehook-attempt': attempt }),
    },
    body: text,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  })
  const { status, headers: given } = response
  // Empty if the body is too large, or does not come.
  const answer = await readCapped(response, MOST_BYTES).then(String, () => '')
  return { status, headers: given, text: answer, json: parseJson(answer) }
}
