import {
  invalidBody,
  methodNotAllowed,
  notFound,
  payloadTooLarge,
  rateLimited,
  unsupportedMediaType,
} from '@oncehook/kernel/http/error-codes'
import { eventInvalid, overloaded } from '@oncehook/webhooks/providers'
import { notChecked, notStored, signatureInvalid } from '../../errors.ts'
import { EVENTS } from './examples.ts'
import type { Operation } from './operation.ts'
import { schemaReference } from './schemas.ts'

/** The operation to which providers deliver. */
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
    notStored,
    notChecked,
  ],
}

/** The check of an endpoint by its provider. */
export const CHECK_ENDPOINT: Operation = {
  operationId: 'checkEndpoint',
  summary: 'Answers a provider that checks the endpoint',
  description:
    'X sends a token from time to time, and expects its HMAC with the consumer secret (its challenge-response check). ' +
    'Meta sends the `verifyToken` of the settings when the URL is entered, and expects its challenge, a number. ' +
    'Braintree sends a challenge when the URL is saved, and expects its HMAC with the private key, as text. ' +
    'Only providers with the schemes `braintree`, `meta` and `x` support it. Others, wrong tokens, and tokens that could be a body, get 405.',
  parameters: ['Provider', 'CrcToken', 'HubMode', 'HubVerifyToken', 'HubChallenge', 'BtChallenge'],
  answers: {
    200: {
      description: 'The signed token for X, the challenge for Meta, or, as text, the signed challenge for Braintree',
      headers: ['CacheControl'],
      schema: schemaReference('CheckAnswer'),
      example: { response_token: 'sha256=8URkJr3tz8LZScGcvYGtW9GOzeALNgpiuarDraEVNKg=' },
      text: schemaReference('CheckText'),
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

/** The health check for load balancers. */
export const GET_HEALTH: Operation = {
  operationId: 'getHealth',
  summary: 'Shows that the process responds, and nothing else',
  answers: {
    200: {
      description: 'The process responds',
      headers: ['CacheControl'],
      schema: schemaReference('Health'),
      example: { status: 'ok' },
    },
  },
  refusals: [payloadTooLarge],
}
