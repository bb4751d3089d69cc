import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from '@oncehook/webhooks/providers'
import type { RequestIds } from '../request-context.ts'
import type { BodyShare } from './body-budget.ts'

/** One delivery on its way through the steps of the webhook handler. Times are values of `performance.now()`. */
export interface WebhookCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly provider: Provider
  /** The client address to which the delivery counts. */
  readonly address: string
  readonly ids: RequestIds
  readonly startedAt: number
  /** When the delivery must be answered, whatever it waits for. */
  readonly endsAt: number
  /** Its share of the memory for bodies; undefined before the body is read. */
  share: BodyShare | undefined
  /** Its body; undefined before it is complete. */
  rawBody: Buffer | undefined
  /** Whether it is small enough to be checked without a turn, and has begun. */
  isCheap: boolean
  /** The duration of its check in milliseconds. */
  workMs: number
}
