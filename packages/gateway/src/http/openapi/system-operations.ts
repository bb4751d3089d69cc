import {
  invalidBody,
  methodNotAllowed,
  notFound,
  payloadTooLarge,
  rateLimited,
  unsupportedMediaType,
} from '@oncehook/kernel/error-codes'
import { eventInvalid, overloaded, tooManyEvents } from '@oncehook/webhooks/errors'
import { notChecked, notStored, signatureInvalid } from '../../errors.ts'
import { EVENTS } from './examples.ts'
import type { Operation } from './operation.ts'
import { schemaReference } from './schemas.ts'

/** Where providers deliver to. */
export const RECEIVE_WEBHOOK: Operation = {
  operationId: 'receiveWebhook',
  summary: 'Takes a signed delivery of a payment provider',
  description:
    'The signature is checked over the bytes as they come, before anything else is said about them. 200 means that a ' +
    'majority of the database holds the event; it is processed once, however often it is delivered. A 5xx and a 429 ' +
    'ask for another delivery. The body described here is the shape of our own; other providers send theirs.',
  security: 'signature',
  parameters: ['Provider'],
  body: { mediaTypes: ['application/json'], schema: schemaReference('Event'), examples: EVENTS },
  answers: {
    200: {
      description: 'The event is stored, now or by an earlier delivery',
      headers: ['RateLimit', 'RateLimitPolicy'],
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
    tooManyEvents,
    notStored,
    notChecked,
  ],
}

/** The check of an endpoint by its provider. */
export const CHECK_ENDPOINT: Operation = {
  operationId: 'checkEndpoint',
  summary: 'Answers a provider that checks the endpoint',
  description:
    'X sends a token, now and then, and wants its HMAC, keyed with the consumer secret (its challenge-response check). ' +
    'Only a provider with the scheme `x` takes it; every other, and a token that could be a body, is answered 405.',
  parameters: ['Provider', 'CrcToken'],
  answers: {
    200: {
      description: 'The token is signed',
      headers: ['CacheControl'],
      schema: schemaReference('CheckAnswer'),
      example: { response_token: 'sha256=8URkJr3tz8LZScGcvYGtW9GOzeALNgpiuarDraEVNKg=' },
    },
  },
  refusals: [notFound, methodNotAllowed, payloadTooLarge],
}

/** This document. */
export const GET_OPENAPI: Operation = {
  operationId: 'getOpenApi',
  summary: 'This document',
  answers: { 200: { description: 'OpenAPI 3.1', headers: ['CacheControl'], schema: { type: 'object' } } },
  refusals: [payloadTooLarge],
}

/** The sign of life for load balancers. */
export const GET_HEALTH: Operation = {
  operationId: 'getHealth',
  summary: 'Says that the process answers, and nothing else',
  answers: {
    200: {
      description: 'It does',
      headers: ['CacheControl'],
      schema: schemaReference('Health'),
      example: { status: 'ok' },
    },
  },
  refusals: [payloadTooLarge],
}
