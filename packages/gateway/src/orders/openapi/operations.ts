import {
  invalidBody,
  invalidRequest,
  keyUnknown,
  notAcceptable,
  notFound,
  payloadTooLarge,
  preconditionFailed,
  preconditionRequired,
  rateLimited,
  unauthenticated,
  unavailable,
  unsupportedMediaType,
} from '@oncehook/kernel/http/error-codes'
import { eventInvalid, overloaded } from '@oncehook/webhooks/providers'
import { notChecked, notStored, scopeMissing, signatureInvalid } from '../../errors.ts'
import { type ParameterName, schemaReference } from './components.ts'
import orderSchemas from './order-schemas.json' with { type: 'json' }

/** A JSON object of the document: a JSON Schema, or a part of OpenAPI 3.1. */
export type JsonObject = { readonly [member: string]: unknown }

/** An entry of an error catalogue, as operations list it. */
export interface Refusal {
  readonly code: string
  readonly status: number
  readonly message: string
}

export interface Answer {
  readonly description: string
  /** Headers in addition to those that every answer of the resource has. */
  readonly headers?: readonly string[]
  /** The schema of the JSON body; absent if there is no body. */
  readonly schema?: JsonObject
  readonly example?: unknown
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly security?: 'bearer' | 'signature'
  readonly parameters?: readonly ParameterName[]
  readonly body?: {
    readonly mediaTypes: readonly string[]
    readonly schema: JsonObject
    /** Name -> a valid body. */
    readonly examples: JsonObject
  }
  readonly answers: { readonly [status: string]: Answer }
  /** The errors of this operation. The errors of any request are added to them. */
  readonly refusals?: readonly Refusal[]
}

const CONTENT = {
  customerId: 'cus_7Q2',
  currency: 'EUR',
  items: [
    { sku: 'book', quantity: 2, unitAmount: 1_250 },
    { sku: 'bookmark', quantity: 1, unitAmount: 0 },
  ],
  email: 'reader@example.com',
  note: 'A present: no invoice, please',
  metadata: { channel: 'shop' },
}

const NEW_ORDERS: JsonObject = {
  complete: { summary: 'With all properties', value: CONTENT },
  least: {
    summary: 'With only the required properties',
    value: { customerId: 'cus_7Q2', currency: 'EUR', items: [{ sku: 'book', quantity: 1, unitAmount: 1_250 }] },
  },
}

const EXAMPLE_ORDER: JsonObject = {
  id: 'ord_7w3qk5zrm2d4xv6ytn8b9cfhja',
  version: 2,
  status: 'paid',
  ...CONTENT,
  amountDue: 2_500,
  access: 'unlocked',
  payment: { id: 'pay_42', provider: 'acme', status: 'succeeded', at: '2026-11-21T10:00:05.000Z' },
  createdAt: '2026-11-21T10:00:00.000Z',
  updatedAt: '2026-11-21T10:00:05.000Z',
}

const PATCHES: JsonObject = {
  members: {
    summary: 'Changes the note, removes one metadata property and adds another',
    value: { note: 'Leave it with the neighbours', metadata: { channel: null, carrier: 'bike' } },
  },
  nothing: { summary: 'Changes nothing', value: {} },
}

const EVENTS: JsonObject = {
  'payment.succeeded': {
    summary: 'A payment of the order in the metadata',
    value: {
      id: 'evt_1001',
      type: 'payment.succeeded',
      data: {
        object: { id: 'pay_42', amount: 2_500, currency: 'eur', metadata: { orderId: 'order-1001' } },
      },
    },
  },
}

const { errors } = orderSchemas
const ANY = [unauthenticated, scopeMissing, payloadTooLarge, rateLimited, notAcceptable, unavailable, keyUnknown]
const BODY = [invalidRequest, invalidBody, unsupportedMediaType]
const ORDER_BODY = { mediaTypes: ['application/json'], schema: schemaReference('OrderInput'), examples: NEW_ORDERS }
const CHANGED = ['Content-Location']
/** Of every operation on one order. */
const ITEM = [
  ...[...ANY, invalidRequest, notFound, preconditionFailed],
  ...[errors.order_not_found, errors.order_unreadable],
]

export const COLLECTION_OPERATIONS: Readonly<Record<'GET' | 'POST', Operation>> = {
  GET: {
    operationId: 'listOrders',
    summary: 'Lists a page of orders, newest first',
    description:
      'An order that is created during paging appears only on the first page. Other parameters are rejected.',
    security: 'bearer',
    parameters: ['Limit', 'After', 'Status'],
    answers: {
      200: {
        description: 'The page; `next` is null on the last page',
        headers: ['Cache-Control'],
        schema: schemaReference('OrderPage'),
        example: { items: [EXAMPLE_ORDER], next: null },
      },
    },
    refusals: [...ANY, invalidRequest],
  },
  POST: {
    operationId: 'createOrder',
    summary: 'Creates an order with an id from the server',
    description:
      'With an Idempotency-Key, a repeat gets the stored answer, byte for byte. The key is bound to the caller’s token ' +
      'and to this exact request. Errors are not stored.',
    security: 'bearer',
    parameters: ['IdempotencyKey'],
    body: ORDER_BODY,
    answers: {
      201: representation('The created order', ['Location', 'Idempotent-Replayed', ...CHANGED]),
    },
    refusals: [
      ...[...ANY, ...BODY],
      ...[errors.order_unreadable, errors.idempotency_in_progress, errors.idempotency_key_reused],
    ],
  },
}

export const ITEM_OPERATIONS: Readonly<Record<'GET' | 'PUT' | 'PATCH' | 'DELETE', Operation>> = {
  GET: {
    operationId: 'getOrder',
    summary: 'Returns an order',
    description: 'If-Match is checked first, then If-None-Match (RFC 9110 section 13.2.2).',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    answers: {
      200: representation('The order', []),
      304: { description: 'The caller has the current version', headers: ['ETag', 'Cache-Control'] },
    },
    refusals: ITEM,
  },
  PUT: {
    operationId: 'putOrder',
    summary: 'Replaces an order, or creates it under the caller’s id',
    description:
      'Omitted properties are removed. An equal order changes nothing, not even its version. The ETag belongs to the ' +
      'body of the answer, which has more properties than the body that was sent. A deleted id continues with the next ' +
      'version. Content-Range is rejected.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    body: ORDER_BODY,
    answers: {
      200: representation('The order after the replacement', CHANGED),
      201: representation('The created order', CHANGED),
    },
    refusals: [...ITEM, ...BODY, errors.id_mismatch, errors.order_paid],
  },
  PATCH: {
    operationId: 'patchOrder',
    summary: 'Changes properties of an order, all or nothing',
    description: 'If several callers send the same If-Match, one succeeds and the others get 412.',
    security: 'bearer',
    parameters: ['OrderId', 'RequiredIfMatch', 'IfNoneMatch'],
    body: {
      mediaTypes: ['application/merge-patch+json', 'application/json'],
      schema: schemaReference('OrderPatch'),
      examples: PATCHES,
    },
    answers: {
      200: representation('The order after the change', CHANGED),
    },
    refusals: [...ITEM, ...BODY, errors.order_paid, errors.patch_unprocessable, preconditionRequired],
  },
  DELETE: {
    operationId: 'deleteOrder',
    summary: 'Deletes an order',
    description: 'An order that is already deleted, or never existed, also gets 204, whatever the condition.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    answers: { 204: { description: 'The order no longer exists' } },
    refusals: ITEM,
  },
}

function representation(description: string, headers: readonly string[]): Answer {
  return {
    description,
    headers: ['ETag', 'Cache-Control', ...headers],
    schema: schemaReference('Order'),
    example: EXAMPLE_ORDER,
  }
}

export const RECEIVE_WEBHOOK: Operation = {
  operationId: 'receiveWebhook',
  summary: 'Accepts a signed delivery from a payment provider',
  description:
    'The signature is verified over the received bytes, before any other error in them is reported. 200 means that a ' +
    'majority of the database has the event. It is processed once, however often it is delivered. After a 5xx or a ' +
    '429, deliver it again. The body described here has our own format; other providers send their formats.',
  security: 'signature',
  parameters: ['Provider'],
  body: { mediaTypes: ['application/json'], schema: schemaReference('Event'), examples: EVENTS },
  answers: {
    200: {
      description: 'The event is stored, now or by an earlier delivery',
      headers: ['RateLimit', 'RateLimit-Policy'],
      schema: schemaReference('Received'),
      example: { received: true },
    },
  },
  refusals: [
    notFound,
    payloadTooLarge,
    unsupportedMediaType,
    rateLimited,
    overloaded,
    signatureInvalid,
    invalidBody,
    eventInvalid,
    notStored,
    notChecked,
  ],
}

export const GET_OPENAPI: Operation = {
  operationId: 'getOpenApi',
  summary: 'This document',
  answers: { 200: { description: 'OpenAPI 3.1', headers: ['Cache-Control'], schema: { type: 'object' } } },
  refusals: [payloadTooLarge],
}

/** The health check for load balancers. */
export const GET_HEALTH: Operation = {
  operationId: 'getHealth',
  summary: 'Shows that the process responds, and nothing else',
  answers: {
    200: {
      description: 'The process responds',
      headers: ['Cache-Control'],
      schema: schemaReference('Health'),
      example: { status: 'ok' },
    },
  },
  refusals: [payloadTooLarge],
}
