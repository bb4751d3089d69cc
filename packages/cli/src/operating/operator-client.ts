import type { OperatorRouter } from '@oncehook/gateway/operator/operator-router'
import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError } from '@trpc/client'
import { CommandFailure } from '../exit-code.ts'
import { toPrintable } from '../output.ts'
import type { OperatorAddress } from './operator-options.ts'

/** The operator API, typed by its router. */
export type OperatorClient = TRPCClient<OperatorRouter>

/** The operator API refused a call or did not answer; `code` is null without an answer that can be read. */
export class OperatorApiFailure extends CommandFailure {
  override readonly name = 'OperatorApiFailure'
  readonly code: string | null

  constructor(message: string, { code, cause }: { code: string | null; cause: unknown }) {
    super(message, { cause })
    this.code = code
  }
}

const TIMEOUT_MS = 15_000

/** A client of one gateway's operator API. Every call ends within 15 s; await it through `ask`. */
export function createOperatorClient(
  fetch: typeof globalThis.fetch,
  { adminUrl, token }: OperatorAddress,
): OperatorClient {
  return createTRPCClient<OperatorRouter>({
    links: [
      httpLink({
        url: `${adminUrl}/operator`,
        headers: { authorization: `Bearer ${token}` },
        fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) } as RequestInit),
      }),
    ],
  })
}

/**
 * What the gateway answered.
 * @throws OperatorApiFailure saying what it refused, or that it did not answer
 */
export async function ask<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw toFailure(error)
  }
}

function toFailure(error: unknown): unknown {
  if (!(error instanceof TRPCClientError)) return error
  const data = error.data as { reason?: unknown } | null | undefined
  const code = typeof data?.reason === 'string' ? toPrintable(data.reason) : null
  if (code === 'unauthenticated') return new OperatorApiFailure(NOT_ACCEPTED, { code, cause: error })
  if (code !== null) return new OperatorApiFailure(`${toPrintable(error.message)} (${code})`, { code, cause: error })
  return new OperatorApiFailure(NO_ANSWER, { code, cause: error })
}

const NOT_ACCEPTED = 'The gateway does not accept this token: it must be one of its OPERATOR_TOKENS'
const NO_ANSWER = 'The operator API does not answer: is this the admin address of a gateway, and is it running?'
