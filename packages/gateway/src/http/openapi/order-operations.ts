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
import { scopeMissing } from '../../errors.ts'
import { EXAMPLE_ORDER, NEW_ORDERS, PATCHES } from './examples.ts'
import type { HeaderName } from './headers.ts'
import type { Answer, Operation } from './operation.ts'
import orderSchemas from './order-schemas.json' with { type: 'json' }
import { schemaReference } from './schemas.ts'

const { errors } = orderSchemas
const ANY = [unauthenticated, scopeMissing, payloadTooLarge, rateLimited, notAcceptable, unavailable, keyUnknown]
const BODY = [invalidRequest, invalidBody, unsupportedMediaType]
const ORDER_BODY = { mediaTypes: ['application/json'], schema: schemaReference('OrderInput'), examples: NEW_ORDERS }
const REPLACED: readonly HeaderName[] = ['ContentLocation', 'PreferenceApplied']
const CREATED: readonly HeaderName[] = ['NewContentLocation', 'PreferenceApplied']
const LINKS_OF_NEW = linksTo('$response.body#/id')
const LINKS_OF_KNOWN = linksTo('$request.path.id')

/** The operations of `/api/orders`. */
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
        headers: ['CacheControl'],
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
    parameters: ['IdempotencyKey', 'Prefer'],
    body: ORDER_BODY,
    answers: {
      201: {
        ...representation('The created order', ['Location', 'IdempotentReplayed', ...CREATED]),
        links: LINKS_OF_NEW,
      },
    },
    refusals: [
      ...[...ANY, ...BODY],
      ...[errors.order_unreadable, errors.idempotency_in_progress, errors.idempotency_key_reused],
    ],
  },
}

/** The operations of `/api/orders/{id}`. */
export const ITEM_OPERATIONS: Readonly<Record<'GET' | 'PUT' | 'PATCH' | 'DELETE', Operation>> = {
  GET: {
    operationId: 'getOrder',
    summary: 'Returns an order',
    description: 'If-Match is checked first, then If-None-Match (RFC 9110 section 13.2.2).',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    answers: {
      200: { ...representation('The order', []), links: LINKS_OF_KNOWN },
      304: { description: 'The caller has the current version', headers: ['ETag', 'CacheControl'] },
    },
    refusals: [...ANY, invalidRequest, notFound, errors.order_not_found, errors.order_unreadable, preconditionFailed],
  },
  PUT: {
    operationId: 'putOrder',
    summary: 'Replaces an order, or creates it under the caller’s id',
    description:
      'Omitted properties are removed. An equal order changes nothing, not even its version. The ETag belongs to the ' +
      'body of the answer, which has more properties than the body that was sent. A deleted id continues with the next ' +
      'version. Content-Range is rejected.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch', 'Prefer'],
    body: ORDER_BODY,
    answers: {
      200: { ...representation('The order after the replacement', REPLACED), links: LINKS_OF_KNOWN },
      201: { ...representation('The created order', CREATED), links: LINKS_OF_KNOWN },
      204: without('Replaced; `Prefer: return=minimal` was applied'),
    },
    refusals: [
      ...ANY,
      ...BODY,
      notFound,
      errors.order_not_found,
      errors.order_unreadable,
      errors.id_mismatch,
      errors.order_paid,
      preconditionFailed,
    ],
  },
  PATCH: {
    operationId: 'patchOrder',
    summary: 'Changes properties of an order, all or nothing',
    description: 'If several callers send the same If-Match, one succeeds and the others get 412.',
    security: 'bearer',
    parameters: ['OrderId', 'RequiredIfMatch', 'IfNoneMatch', 'Prefer'],
    body: {
      mediaTypes: ['application/merge-patch+json', 'application/json'],
      schema: schemaReference('OrderPatch'),
      examples: PATCHES,
    },
    answers: {
      200: { ...representation('The order after the change', REPLACED), links: LINKS_OF_KNOWN },
      204: without('Changed; `Prefer: return=minimal` was applied'),
    },
    refusals: [
      ...ANY,
      ...BODY,
      notFound,
      errors.order_not_found,
      errors.order_unreadable,
      errors.order_paid,
      preconditionFailed,
      errors.patch_unprocessable,
      preconditionRequired,
    ],
  },
  DELETE: {
    operationId: 'deleteOrder',
    summary: 'Deletes an order',
    description: 'An order that is already deleted, or never existed, also gets 204, whatever the condition.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    answers: { 204: { description: 'The order no longer exists' } },
    refusals: [...ANY, invalidRequest, notFound, errors.order_not_found, errors.order_unreadable, preconditionFailed],
  },
}

function representation(description: string, headers: readonly HeaderName[]): Answer {
  return {
    description,
    headers: ['ETag', 'CacheControl', ...headers],
    schema: schemaReference('Order'),
    example: EXAMPLE_ORDER,
  }
}

function without(description: string): Answer {
  return { description, headers: ['ETag', 'CacheControl', ...REPLACED] }
}

/** Links to the next operations on an order. The expression selects its id; PATCH also gets its ETag. */
function linksTo(id: string) {
  const ifMatch = { 'header.If-Match': '$response.header.ETag' }
  return {
    get: { operationId: 'getOrder', parameters: { 'path.id': id } },
    put: { operationId: 'putOrder', parameters: { 'path.id': id } },
    patch: { operationId: 'patchOrder', parameters: { 'path.id': id, ...ifMatch } },
    delete: { operationId: 'deleteOrder', parameters: { 'path.id': id } },
  }
}
