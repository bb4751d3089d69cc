import type { HeaderName } from './headers.ts'
import type { ParameterName } from './parameters.ts'

/** A JSON object of the document: a JSON Schema, or a part of OpenAPI 3.1. */
export type JsonObject = { readonly [member: string]: unknown }

/** An entry of an error catalogue, as operations list it. */
export interface Refusal {
  readonly code: string
  readonly status: number
  readonly message: string
}

/** The answer of a successful operation. */
export interface Answer {
  readonly description: string
  /** Headers in addition to those that every answer of the resource has. */
  readonly headers?: readonly HeaderName[]
  /** The schema of the JSON body; absent if there is no body. */
  readonly schema?: JsonObject
  readonly example?: unknown
  /** The schema of the body if it is text instead of JSON. */
  readonly text?: JsonObject
  /** The operations that a client can call next with values from this answer. */
  readonly links?: JsonObject
}

/** The JSON body of a request. */
interface RequestBody {
  readonly mediaTypes: readonly string[]
  readonly schema: JsonObject
  /** Name -> a valid body. */
  readonly examples: JsonObject
}

/** An operation: its input, its answers and its errors. */
export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly security?: 'bearer' | 'signature'
  readonly parameters?: readonly ParameterName[]
  readonly body?: RequestBody
  readonly answers: { readonly [status: string]: Answer }
  /** The errors of this operation. The errors of any request are added to them. */
  readonly refusals?: readonly Refusal[]
}
