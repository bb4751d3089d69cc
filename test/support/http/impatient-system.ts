import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { expectSound, type HttpAnswer, toHttpAnswer } from './http-answer.ts'
import { ORDERS } from './http-orders.ts'
import { type HttpSystem, startHttpSystem } from './http-system.ts'
import { type Octets, parseAnswers } from './raw-http.ts'

/** A system that waits only a short time for requests, and what its tests send and expect. */
export interface ImpatientSystem extends HttpSystem {
  /** Sends octets and reads all answers; the other side has to end the connection within the deadline. */
  answersTo(octets: Octets, methods?: readonly string[]): Promise<HttpAnswer[]>
  /** The status of the only answer to octets. The connection ends after it. */
  statusOf(octets: Octets, methods?: readonly string[]): Promise<number | undefined>
  /** F01: the service still answers after every broken request. */
  expectAnswers(): Promise<void>
}

const IMPATIENT = { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000 }

/** Starts the system. */
export async function startImpatientSystem(): Promise<ImpatientSystem> {
  const system = await startHttpSystem({ limits: IMPATIENT })
  const answersTo: ImpatientSystem['answersTo'] = async (octets, methods = ['GET']) => {
    const exchange = await system.send(octets, 6_000)
    expect(exchange.closed, 'closed by the server').toBe(true)
    return parseAnswers(exchange.octets, methods).map((answer) => expectSound(toHttpAnswer(answer)))
  }
  return {
    ...system,
    answersTo,
    async statusOf(octets, methods) {
      const answers = await answersTo(octets, methods)
      expect(answers).toHaveLength(1)
      return answers[0]?.status
    },
    async expectAnswers() {
      const event = { id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } } }
      const startedAt = performance.now()
      expect(await system.deliver(event)).toMatchObject({ status: 200, json: { received: true } })
      expect(performance.now() - startedAt).toBeLessThan(5_000)
    },
  }
}

/** The octets of a request that reads something. */
export function get(lines: string, target = '/healthz', version = 'HTTP/1.1'): string {
  return `GET ${target} ${version}\r\n${lines}\r\n`
}

/** The octets of a request that creates an order. */
export function post(lines: string, body = ''): string {
  return `POST ${ORDERS} HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`
}
