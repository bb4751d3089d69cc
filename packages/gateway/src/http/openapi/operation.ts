import type { HeaderName } from './headers.ts'
import type { ParameterName } from './parameters.ts'

/** A JSON object of the document: a JSON Schema, or a part of OpenAPI 3.1. */
export type JsonObject = { readonly [member: string]: unknown }

/** One entry of an error catalogue, as operations name it. */
export interface Refusal {
  readonly code: string
  readonly status: number
  readonly says: string
}

/** What an operation answers when it does what it was asked for. */
export interface Answer {
  readonly description: string
  /** Headers beyond those that every answer of the resource has. */
  readonly headers?: readonly HeaderName[]
  /** The schema of a JSON body; none: there is no body. */
  readonly schema?: JsonObject
  readonly example?: unknown
  /** What a client may do next with what it was told. */
  readonly links?: JsonObject
}

/** The JSON that an operation takes. */
interface RequestBody {
  readonly mediaTypes: readonly string[]
  readonly schema: JsonObject
  /** Name -> a body that is taken. */
  readonly examples: JsonObject
}

/** One operation: what it takes, what it answers, and why it may refuse. */
export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly security?: 'bearer' | 'signature'
  readonly parameters?: readonly ParameterName[]
  readonly body?: RequestBody
  readonly answers: { readonly [status: string]: Answer }
  /** Refusals of its own; those that any request may meet are added to them. */
  readonly refusals?: readonly Refusal[]
}
