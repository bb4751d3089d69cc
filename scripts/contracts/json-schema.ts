/** The part of JSON Schema 2020-12 that the schemas of procedures use. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly propertyNames?: JsonSchema
  readonly items?: JsonSchema
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

/** A schema without alternatives: its values have one type, or any type. */
export interface Variant extends Omit<JsonSchema, 'anyOf'> {
  readonly type?: string
}

/** The alternatives of a schema. */
export function variantsOf({ anyOf, type, ...rest }: JsonSchema): readonly Variant[] {
  if (anyOf !== undefined) return anyOf.flatMap(variantsOf)
  if (typeof type !== 'object') return [type === undefined ? rest : { ...rest, type }]
  return type.map((one) => ({ ...rest, type: one }))
}

/** The values that a schema lists, or null if it does not list them. */
export function listedValues({ const: constant, enum: values }: Variant): readonly unknown[] | null {
  return values ?? (constant === undefined ? null : [constant])
}

/** The name that a schema uses for the type of a JSON value. Whole numbers are `integer`. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Whether values of one type are also values of the wanted type. */
export function isOfType(type: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || type === wanted || (type === 'integer' && wanted === 'number')
}
