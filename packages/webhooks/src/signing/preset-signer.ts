import { toDecimal } from '@oncehook/kernel/money/currencies'
import type { MacSignature, Place, Places, Preset, StandardSignature } from '../presets/preset.ts'
import { hmac } from './generic/hmac.ts'
import { standardWebhooks } from './generic/standard-webhooks.ts'
import { writeJson } from './json-body.ts'
import { toNumber, toUuid } from './made-ids.ts'
import { type PaymentTypes, plainTypes } from './payment-event.ts'
import samples from './samples.json' with { type: 'json' }
import { jsonSigner, type SchemeEvent, toSchemeEvent } from './scheme-event.ts'
import { type HeaderLine, type Signer, SigningError, type SigningRequest } from './signer.ts'

/** Bodies as the providers document them, by the names of the presets. */
const SAMPLES: ReadonlyMap<string, object> = new Map(Object.entries(samples))

/**
 * The signer of a preset. Its bodies are the documented one, with the values of the event in their places, written as the
 * document writes them: numbers as numbers, seconds as seconds, UUIDs as UUIDs.
 */
export function presetSigner(preset: Preset): Signer {
  const { signature } = preset
  const types = typesOf(preset)
  const signsUrl = signature.checkedAs !== 'standard-webhooks' && signature.signedText?.includes('{url}') === true
  const itemOf = (event: SchemeEvent): object => bodyOf(preset, types, event)
  return jsonSigner(types, (event) => (preset.list === undefined ? itemOf(event) : [itemOf(event)]), {
    ...(preset.list === undefined
      ? {}
      : {
          batch: {
            ...preset.list,
            writeEvents: (events) => writeJson(events.map((event) => itemOf(toSchemeEvent(event, types)))),
          },
        }),
    sign: (request) => [...sign(signature, request), ...unsignedLines(preset, request)],
    settings: signsUrl ? ['publicUrl'] : [],
    paymentIdOf: ({ paymentId }) => paymentIdIn(preset, paymentId),
    ...mappingOf(preset, types),
  })
}

function sign(signature: Preset['signature'], request: SigningRequest): HeaderLine[] {
  return signature.checkedAs === 'standard-webhooks' ? signStandard(signature, request) : signMac(signature, request)
}

function signStandard({ headerPrefix, secretIsText }: StandardSignature, request: SigningRequest): HeaderLine[] {
  const secret = secretIsText === true ? Buffer.from(request.secret).toString('base64') : request.secret
  return standardWebhooks.sign({ ...request, secret, settings: { headerPrefix } })
}

function signMac({ timestampIn, checkedAs: _, ...signature }: MacSignature, request: SigningRequest): HeaderLine[] {
  // The generic signer writes seconds.
  const now = timestampIn === 'milliseconds' ? request.now * 1_000 : request.now
  return hmac.sign({ ...request, now, settings: { ...request.settings, ...signature } })
}

function unsignedLines({ unsignedHeaders = [] }: Preset, { eventId = 'simulated' }: SigningRequest): HeaderLine[] {
  return unsignedHeaders.map((name) => [name, eventId])
}

function paymentIdIn({ name, read }: Preset, paymentId: string): string {
  const found = [read.object].flat().map((pointer) => findIn(SAMPLES.get(name) ?? {}, pointer))
  const first = found.find((one) => one !== undefined)
  return String(idLike(first?.object[first.name], paymentId))
}

function typesOf({ types, sent = {} }: Preset): PaymentTypes {
  const firstThatIs = (ours: string): string =>
    Object.keys(types).find((name) => meaningOf(types[name]).is === ours) ?? ours
  const { succeeded = firstThatIs(plainTypes.succeeded), failed = firstThatIs(plainTypes.failed) } = sent
  return { succeeded, failed }
}

function meaningOf(meaning: Preset['types'][string] = ''): { readonly is: string; readonly where?: unknown } {
  return typeof meaning === 'string' ? { is: meaning } : meaning
}

/** The settings that a gateway needs to understand these types. */
function mappingOf({ types, sent }: Preset, { succeeded, failed }: PaymentTypes): Pick<Signer, 'mapping'> {
  const pairs = [
    [succeeded, plainTypes.succeeded],
    [failed, plainTypes.failed],
  ] as const
  const unknown = pairs.filter(([name, ours]) => name !== ours && !Object.hasOwn(types, name))
  if (unknown.length === 0) return {}
  return {
    mapping: {
      events: Object.fromEntries(unknown),
      ...(sent?.order === undefined ? {} : { read: { order: sent.order } }),
    },
  }
}

function bodyOf({ name, read, types, sent }: Preset, { succeeded, failed }: PaymentTypes, event: SchemeEvent): object {
  const hasStatus = read.status !== undefined && [succeeded, failed].includes(event.type)
  const end = hasStatus ? event.type.lastIndexOf('.') : event.type.length
  const conditions = Object.entries(meaningOf(types[event.type]).where ?? {})
  const changes: readonly (readonly [Place | undefined, (shown: unknown) => unknown])[] = [
    // Of several values that are the id, the first is the provider's own, if it has one.
    [read.id ?? read.idOf?.[0], (shown) => idLike(shown, event.id)],
    [read.type, () => event.type.slice(0, end)],
    [read.status, (shown) => (hasStatus ? event.type.slice(end + 1) : shown)],
    [read.object, (shown) => idLike(shown, event.paymentId)],
    [sent?.order ?? read.order, () => event.orderId],
    [read.amount, (shown) => amountLike(shown, event, read)],
    [read.currency, (shown) => (shown === String(shown).toLowerCase() ? event.currency.toLowerCase() : event.currency)],
    [read.time, (shown) => timeLike(shown, event)],
    // Other conditions are met by what the sample has.
    ...conditions.map(([pointer, value]) => [pointer, (shown: unknown) => (isScalar(value) ? value : shown)] as const),
  ]
  const body = structuredClone(SAMPLES.get(name) ?? {})
  for (const [place = [], change] of changes) {
    const found = [place].flat().map((pointer) => findIn(body, pointer))
    const first = found.find((one) => one !== undefined)
    if (first !== undefined) first.object[first.name] = change(first.object[first.name])
  }
  return body
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

/** Where a pointer leads: the object, and the name in it; undefined if it is not there. */
function findIn(body: object, pointer: string): { object: Record<string, unknown>; name: string } | undefined {
  const names = pointer.split('/').slice(1)
  const name = names.pop() ?? ''
  const object = names.reduce<unknown>((value, one) => (value as Record<string, unknown> | undefined)?.[one], body)
  return typeof object === 'object' && object !== null && name in object
    ? { object: object as Record<string, unknown>, name }
    : undefined
}

function idLike(shown: unknown, id: string): string | number {
  if (typeof shown === 'number') return toNumber(id)
  if (/^\d+$/.test(String(shown))) return String(toNumber(id))
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-/.test(String(shown)) ? toUuid(id) : id
}

function amountLike(shown: unknown, { amount, currency }: SchemeEvent, { amountIn, decimals = {} }: Places) {
  const [provider, iso] = new Map(Object.entries(decimals)).get(currency) ?? [0, 0]
  const units = provider < iso ? amount / 10 ** (iso - provider) : amount * 10 ** (provider - iso)
  if (!Number.isInteger(units)) throw new SigningError(`The provider cannot express this amount in ${currency}`)
  const written = amountIn === 'decimal' ? toDecimal(units, currency) : String(units)
  return typeof shown === 'number' ? Number(written) : written
}

function timeLike(shown: unknown, { at, seconds, occurredAt }: SchemeEvent): string | number {
  if (typeof shown === 'string') return at
  return Number(shown) < 100_000_000_000 ? seconds : Math.floor(occurredAt)
}
