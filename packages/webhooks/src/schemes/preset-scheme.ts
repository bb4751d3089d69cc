import type { z } from 'zod'
import { type At, jsonReader, type PrepareReader } from '../events/event-reader.ts'
import { toId } from '../events/event-text.ts'
import type { FoundEvent, TypeNames } from '../events/found-event.ts'
import { idOfValues } from '../events/id-of-values.ts'
import { readList } from '../events/item-list.ts'
import { resolvePointer } from '../events/json-pointer.ts'
import { isoUnits, minorUnits, minorUnitsOfText } from '../events/money.ts'
import { PAYMENTS } from '../events/permits.ts'
import type { MacSignature, Place, Places, Preset, StandardSignature } from '../presets/preset.ts'
import { type CommonSettings, publicUrl } from '../settings/common-settings.ts'
import { bodySignature } from '../signatures/body-signature.ts'
import { listSignature } from '../signatures/list-signature.ts'
import { readHexKey, readTextKey } from '../signatures/read-key.ts'
import { secondsOf } from '../signatures/time-forms.ts'
import { genericHmac } from './generic/hmac.ts'
import { prepareStandardCheck, readStandardKey, STANDARD_FAMILIES } from './generic/standard-webhooks.ts'
import { UNDOCUMENTED } from './redelivery.ts'
import { defineScheme, type ProviderSettings, type Scheme, type SchemeParts } from './scheme.ts'

/** With what some presets have beyond the shared settings. */
type Settings = CommonSettings & { readonly publicUrl?: string; readonly verifyToken?: string | undefined }
type SignatureParts = Pick<SchemeParts<Settings>, 'readKey' | 'signsTime' | 'prepare'>

/** The scheme of a preset. `code` is what the provider needs beside the data, and `own` are the settings for that. */
export function presetScheme(
  preset: Preset,
  code: Partial<SchemeParts<Settings>> = {},
  own: { readonly verifyToken?: z.ZodType<string | undefined> } = {},
): Scheme {
  const { name, signature, unsignedHeaders = [], read, types, redelivery = UNDOCUMENTED, permits = PAYMENTS } = preset
  const isStandard = signature.checkedAs === 'standard-webhooks'
  const parts = isStandard ? standardParts(signature) : macParts(signature)
  const headerFamilies = isStandard ? STANDARD_FAMILIES : [headersOf(signature)]
  const shown = unsignedHeaders.map((header) => header.toLowerCase())
  const find = prepareFind(read)
  const signsUrl = !isStandard && signature.signedText?.includes('{url}') === true
  // The others read no URL.
  const shape = { ...own, ...(signsUrl ? { publicUrl } : {}) } as { readonly publicUrl: typeof publicUrl }
  return defineScheme(name, shape, {
    ...parts,
    headerFamilies,
    signedHeaders: () => [...headerFamilies.flat(), ...shown],
    redelivery,
    permits,
    prepareReader:
      preset.list === undefined
        ? jsonReader(types, (_, at, { signedId }) => ({ ...find(at), ...(signedId && { id: signedId }) }))
        : listReader(types, preset.list.most, find),
    ...code,
  })
}

function listReader(types: TypeNames, most: number, find: (at: At) => FoundEvent): PrepareReader {
  return (settings) => (delivery) =>
    readList(
      delivery,
      { ...settings, types },
      { most, find: (item) => find((pointer) => resolvePointer(item, pointer)) },
    )
}

function headersOf({ header, timestampHeader }: MacSignature): readonly string[] {
  return [header, timestampHeader].flatMap((name) => name?.toLowerCase() ?? [])
}

function standardParts({ secretIsText }: StandardSignature): SignatureParts {
  return {
    readKey: secretIsText === true ? readTextKey : readStandardKey,
    signsTime: () => true,
    prepare: ({ toleranceSeconds }, secrets) => prepareStandardCheck(toleranceSeconds, secrets),
  }
}

function macParts(signature: MacSignature): SignatureParts {
  const { algorithm = 'sha256', encoding = 'hex', prefix = '', separator, timestampPrefix, checkedAs } = signature
  if (checkedAs === 'hmac') return genericParts(signature)
  const [header = '', timestampHeader] = headersOf(signature)
  if (separator !== undefined && timestampPrefix !== undefined) {
    const [time = '', name = ''] = [timestampPrefix, prefix].map((text) => text.replace('=', ''))
    const [, between = ''] = /^\{timestamp\}(.*)\{body\}$/.exec(signature.signedText ?? '{timestamp}.{body}') ?? []
    return listSignature({ header, separator, time, signature: name, between })
  }
  const before = (signature.signedText ?? '{body}').replace(/\{body\}$/, '')
  const parts = bodySignature<Settings>({
    ...{ algorithm, headers: [header], timestampHeader, encoding, prefix },
    before: (timestamp, { publicUrl: url = '' }) => before.replace('{timestamp}', timestamp).replace('{url}', url),
    ...(signature.timestampIn === undefined ? {} : { toSeconds: secondsOf }),
  })
  return signature.secretEncoding === 'hex' ? { ...parts, readKey: readHexKey } : parts
}

/** The check of the generic scheme, with these settings. */
function genericParts(signature: MacSignature): SignatureParts {
  const [header, timestampHeader] = headersOf(signature)
  const defaults = { algorithm: 'sha256', encoding: 'hex', prefix: '', secretEncoding: 'utf8' }
  const whole = (settings: Settings) =>
    ({ ...settings, ...defaults, ...signature, header, timestampHeader }) as unknown as ProviderSettings
  return {
    readKey: readTextKey,
    signsTime: (settings) => genericHmac.signsTime(whole(settings)),
    prepare: (settings, secrets) => genericHmac.prepare(whole(settings), secrets),
  }
}

/** Finds the values of an event where the preset says. */
function prepareFind({ amountIn, decimals = {}, ...places }: Places): (at: At) => FoundEvent {
  const unitsOf = (amount: unknown, currency: unknown) => {
    const units = amountIn === 'decimal' ? minorUnits(amount, currency) : minorUnitsOfText(amount)
    return typeof units === 'number' ? isoUnits(units, { currency, decimals }) : units
  }
  return (at) => {
    const currency = firstOf(at, places.currency)
    return {
      id: places.idOf === undefined ? firstOf(at, places.id, isId) : idOfValues(places.idOf.map(at)),
      type: firstOf(at, places.type),
      status: firstOf(at, places.status),
      objectId: firstOf(at, places.object, isId),
      orderId: firstOf(at, places.order, isId),
      amount: unitsOf(firstOf(at, places.amount), currency),
      currency,
      decimals,
      occurredAt: firstOf(at, places.time),
    }
  }
}

function firstOf(at: At, place: Place = [], counts: (value: unknown) => boolean = isThere): unknown {
  return [place].flat().map(at).find(counts)
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}

function isId(value: unknown): boolean {
  return toId(value) !== undefined
}
