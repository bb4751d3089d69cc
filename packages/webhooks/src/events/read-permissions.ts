import { PAYMENT_EVENT_TYPES, type PaymentEventType } from '../event.ts'
import type { ProviderSettings, Scheme } from '../schemes/scheme.ts'
import { pointersOf } from './conditions.ts'
import { pointersOfMapping, typeOfMeaning } from './mapping.ts'
import type { Permissions } from './permits.ts'

/** What the events of a provider may do, from its settings and the preset of its scheme. */
export function readPermissions({ permits }: Pick<Scheme, 'permits'>, settings: ProviderSettings): Permissions {
  return {
    effects: settings.effects ?? permits.effects ?? [],
    requireAmount: settings.requireAmount ?? permits.requireAmount,
    expect: { ...permits.expect?.(settings), ...settings.expect },
  }
}

/** The problems of the permissions of a provider. Each is a clause that shows the property to write. */
export function permissionProblems({ permits }: Pick<Scheme, 'permits'>, settings: ProviderSettings): string[] {
  return [...effectProblems(permits.effects, settings), ...pointerProblems(permits.signedProperties, settings)]
}

/** The properties that name mode or account and that the settings of a provider with effects do not mention. */
export function unsaidOrigin({ permits }: Pick<Scheme, 'permits'>, settings: ProviderSettings): readonly string[] {
  const { effects } = readPermissions({ permits }, settings)
  return effects.length > 0 && settings.expect === undefined ? (permits.origin ?? []) : []
}

/**
 * The types that the settings of a provider map to a success, and of which only the preset says that they name an amount.
 * The preset does not know these types: they may name no amount, or another one.
 */
export function unsureAmounts({ permits }: Pick<Scheme, 'permits'>, settings: ProviderSettings): readonly string[] {
  if (settings.requireAmount !== undefined || !permits.requireAmount) return []
  return Object.entries(settings.events ?? {}).flatMap(([type, ours]) =>
    typeOfMeaning(ours) === 'payment.succeeded' ? [type] : [],
  )
}

/** The property that allows every effect, as it is written. */
const ALL = propertyOf(PAYMENT_EVENT_TYPES)

function effectProblems(preset: Permissions['effects'] | null, { effects, events }: ProviderSettings): string[] {
  const allowed = effects ?? preset
  if (allowed === null) return [`effects is required: add ${ALL}, or "effects": [] for none`]
  const meanings = Object.values(events ?? {}).map(typeOfMeaning)
  const mapped = PAYMENT_EVENT_TYPES.filter((type) => meanings.includes(type))
  if (mapped.every((type) => allowed.includes(type))) return []
  const needed = PAYMENT_EVENT_TYPES.filter((type) => allowed.includes(type) || mapped.includes(type))
  const verb = effects === undefined ? 'add' : 'write'
  return [`events maps to a type of payment that has no effect here: ${verb} ${propertyOf(needed)}`]
}

function pointerProblems(signed: readonly string[] | undefined, settings: ProviderSettings): string[] {
  if (signed === undefined) return []
  const { expect = {}, read = {}, events = {} } = settings
  const conditions = Object.values(events).flatMap((one) => (typeof one === 'string' ? [] : pointersOf(one.where)))
  const named: readonly (readonly [name: string, pointer: string])[] = [
    ...Object.keys(expect).map((pointer) => ['expect', pointer] as const),
    ...pointersOfMapping(read).map(([name, pointer]) => [`read.${name}`, pointer] as const),
    ...conditions.map((pointer) => ['events', pointer] as const),
  ]
  const unsigned = named.filter(([, pointer]) => !signed.includes(pointer))
  return [...new Set(unsigned.map(([name]) => name))].map(
    (name) => `${name} refers to a property that is not signed; signed are ${signed.join(', ')}`,
  )
}

function propertyOf(effects: readonly PaymentEventType[]): string {
  return `"effects": [${effects.map((effect) => `"${effect}"`).join(', ')}]`
}
