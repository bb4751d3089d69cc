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
} from '@oncehook/kernel/error-codes'
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
    summary: 'A page of the orders, newest first',
    description:
      'An order that is made while somebody pages shows on the first page only. Other parameters are refused.',
    security: 'bearer',
    parameters: ['Limit', 'After', 'Status'],
    answers: {
      200: {
        description: 'The page; `next` is null on the last one',
        headers: ['CacheControl'],
        schema: schemaReference('OrderPage'),
        example: { items: [EXAMPLE_ORDER], next: null },
      },
    },
    refusals: [...ANY, invalidRequest],
  },
  POST: {
    operationId: 'createOrder',
    summary: 'Makes an order under an id of the server’s',
    description:
      'With an Idempotency-Key a repeat gets the stored answer, byte for byte; the key belongs to the caller’s token ' +
      'and to this very request. Errors are not stored.',
    security: 'bearer',
    parameters: ['IdempotencyKey', 'Prefer'],
    body: ORDER_BODY,
    answers: {
      201: {
        ...representation('The order that was made', ['Location', 'IdempotentReplayed', ...CREATED]),
        links: LINKS_OF_NEW,
      },
    },
    refusals: [...ANY, ...BODY, errors.idempotency_in_progress, errors.idempotency_key_reused],
  },
}

/** The operations of `/api/orders/{id}`. */
export const ITEM_OPERATIONS: Readonly<Record<'GET' | 'PUT' | 'PATCH' | 'DELETE', Operation>> = {
  GET: {
    operationId: 'getOrder',
    summary: 'An order',
    description: 'If-Match is looked at first, then If-None-Match (RFC 9110 section 13.2.2).',
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
    summary: 'Replaces an order, or makes it under the caller’s id',
    description:
      'Members that are left out are gone afterwards; an equal order changes nothing, not even its version. The ETag ' +
      'belongs to the body of the answer, which has more members than the one that was sent. A deleted id goes on with ' +
      'the next version. Content-Range is refused.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch', 'Prefer'],
    body: ORDER_BODY,
    answers: {
      200: { ...representation('The order after it was replaced', REPLACED), links: LINKS_OF_KNOWN },
      201: { ...representation('The order that was made', CREATED), links: LINKS_OF_KNOWN },
      204: without('Replaced; `Prefer: return=minimal` was honoured'),
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
    summary: 'Changes members of an order, all or nothing',
    description: 'Of several callers with the same If-Match one gets through, the others get 412.',
    security: 'bearer',
    parameters: ['OrderId', 'RequiredIfMatch', 'IfNoneMatch', 'Prefer'],
    body: {
      mediaTypes: ['application/merge-patch+json', 'application/json'],
      schema: schemaReference('OrderPatch'),
      examples: PATCHES,
    },
    answers: {
      200: { ...representation('The order after the change', REPLACED), links: LINKS_OF_KNOWN },
      204: without('Changed; `Prefer: return=minimal` was honoured'),
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
    description: 'Also what is gone already, or never was, is answered with 204, whatever the condition.',
    security: 'bearer',
    parameters: ['OrderId', 'IfMatch', 'IfNoneMatch'],
    answers: { 204: { description: 'There is no such order any more' } },
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

/** The next steps with an order whose id is found by this expression; the versioned ones take its ETag along. */
function linksTo(id: string) {
  const ifMatch = { 'header.If-Match': '$response.header.ETag' }
  return {
    get: { operationId: 'getOrder', parameters: { 'path.id': id } },
    put: { operationId: 'putOrder', parameters: { 'path.id': id } },
    patch: { operationId: 'patchOrder', parameters: { 'path.id': id, ...ifMatch } },
    delete: { operationId: 'deleteOrder', parameters: { 'path.id': id } },
  }
}
