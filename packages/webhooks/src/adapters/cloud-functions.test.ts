import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import express from 'express'
import Koa from 'koa'
import { describe, expect, it, vi } from 'vitest'
import { createVerifier } from '../create-verifier.ts'
import { readVectorFiles } from '../testing/vectors.ts'
import { expressWebhook } from './express-webhook.ts'
import { koaWebhook } from './koa-webhook.ts'

const genuine = readVectorFiles().find(({ scheme }) => scheme === 'stripe')?.cases[0]
if (genuine === undefined) throw new Error('Stripe has no vectors')
const verifier = createVerifier({ scheme: 'stripe', secrets: genuine.secret }, { now: () => genuine.now * 1_000 })
const body = Buffer.from(genuine.body, 'base64')
const lines = [['content-type', 'application/json'] as const, ...genuine.headers]
const headers = Object.fromEntries(lines.map(([name, value]) => [name.toLowerCase(), value]))
const asSent = Object.fromEntries(lines)

/** A request as serverless-http 4 makes it from the event of a cloud function: there are no raw headers, and the body is there. */
class ServerlessRequest extends IncomingMessage {
  override readonly complete = true
  override readonly method = 'POST'
  override readonly url = '/webhooks'
  readonly body: unknown = body

  constructor() {
    super(new Socket())
    Object.assign(this, { headers: { ...headers, 'content-length': body.byteLength } })
  }

  override _read(): void {
    this.push(body)
    this.push(null)
  }
}

describe('a delivery to a cloud function', () => {
  it.each([
    ['Express', express().all('/webhooks', expressWebhook(verifier, vi.fn()))],
    ['Koa', new Koa().use(koaWebhook(verifier, vi.fn())).callback()],
  ])('is accepted by %s behind serverless-http', async (_, listener) => {
    const request = new ServerlessRequest()
    const response = new ServerResponse(request)
    const status = new Promise((resolve) => {
      Object.assign(response, { end: () => resolve(response.statusCode) })
    })
    listener(request, response)
    expect(await status).toBe(200)
  })

  it.each<[string, string | Buffer, Readonly<Record<string, unknown>>]>([
    ['of AWS Lambda, version 2', body.toString(), headers],
    ['of AWS Lambda with base64', Buffer.from(body.toString('base64'), 'base64'), headers],
    ['of AWS Lambda, version 1, with names as they were sent', body.toString(), asSent],
    [
      'of AWS Lambda, version 1, with lists of values',
      body,
      Object.fromEntries(lines.map(([name, value]) => [name, [value]])),
    ],
    ['of a console, with null for no value', body, { ...headers, 'X-Forwarded-For': null }],
  ])('%s is verified', async (_, rawBody, given) => {
    expect((await verifier.verify({ rawBody, headers: given as never })).outcome).toBe('verified')
  })
})
