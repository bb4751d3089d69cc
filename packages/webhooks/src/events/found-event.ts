import type { PaymentFacts } from '../event.ts'
import { idOfValues } from './id-of-values.ts'
import { resolvePointer } from './json-pointer.ts'
import type { Mapping, Meaning } from './mapping.ts'
import { isoUnits, minorUnits, minorUnitsOfText, type OtherDecimals } from './money.ts'

/** The provider's names of types, with or without the status, and what they mean. */
export type TypeNames = Readonly<Record<string, Meaning>>

/** Minor units; null if the amount is invalid, undefined if there is none. */
export type Amount = number | null | undefined

/** Values from the body of a provider. They are not checked yet. */
export interface FoundEvent {
  /** The provider's id of the event. Without one, the event has the hash of its bytes. */
  readonly id: unknown
  /** The provider's name of the type. */
  readonly type: unknown
  /** A status that decides what the type means. It is appended to the type after a full stop. */
  readonly status?: unknown
  /** The id of the object. An event that changes no order may have none. */
  readonly objectId: unknown
  readonly orderId?: unknown
  /** If our type decides which amount counts, a function of it. */
  readonly amount?: Amount | ((type: string) => Amount)
  readonly currency?: unknown
  /** Where the minor units of the provider differ from ISO 4217. They count where the settings say where the amount is. */
  readonly decimals?: OtherDecimals | undefined
  /** ISO 8601, or seconds or milliseconds since 1970. */
  readonly occurredAt?: unknown
  /** If a body can have several events: where this one is, as a JSON Pointer. */
  readonly pointer?: string
  /** If the object is not paid yet, its state: then it is no success, unless the settings map the type with this state. */
  readonly unpaid?: string
  /** Why the event has no effect, whatever the settings say. */
  readonly withheld?: NonNullable<PaymentFacts['withheld']>
  /** The names of types, if the body decides which count. Default: those of the scheme. */
  readonly types?: TypeNames
}

/** The values of an event, as the settings say where they are, or else as the scheme has found them. */
export function mapped(found: FoundEvent, document: unknown, mapping: Mapping): FoundEvent {
  const { id, idOf, type, object, order, amount, amountIn, currency, time } = mapping
  const at = (pointer: string): unknown => resolvePointer(document, pointer)
  const money = { currency: currency === undefined ? found.currency : at(currency) }
  return {
    ...found,
    ...(id === undefined ? {} : { id: at(id) }),
    ...(idOf === undefined ? {} : { id: idOfValues(idOf.map(at)) }),
    ...(type === undefined ? {} : { type: at(type), status: undefined }),
    ...(object === undefined ? {} : { objectId: at(object) }),
    ...(order === undefined ? {} : { orderId: at(order) }),
    ...(amount === undefined ? {} : { amount: amountAt(at(amount), { amountIn, decimals: found.decimals, ...money }) }),
    ...(currency === undefined ? {} : money),
    ...(time === undefined ? {} : { occurredAt: at(time) }),
  } as FoundEvent
}

function amountAt(
  value: unknown,
  { amountIn, currency, decimals = {} }: Pick<Mapping, 'amountIn'> & Pick<FoundEvent, 'currency' | 'decimals'>,
): number | null | undefined {
  if (amountIn === 'decimal') return minorUnits(value, currency)
  const units = minorUnitsOfText(value)
  return typeof units === 'number' ? isoUnits(units, { currency, decimals }) : units
}
