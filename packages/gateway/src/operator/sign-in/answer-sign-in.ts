import type { IncomingMessage, ServerResponse } from 'node:http'
import { unsupportedMediaType } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import { refuseEncodedBody } from '@oncehook/kernel/http/server/raw-body'
import { logRefused, sendError } from '@oncehook/kernel/http/server/send-error'
import type { Logger } from '@oncehook/kernel/log/logger'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { crossSite } from '../../errors.ts'
import type { FailedLogins } from '../../http/authentication/failed-logins.ts'

/** What every answer to a sign-in needs. */
export interface SignInAnswering {
  readonly failedLogins: Pick<FailedLogins, 'refuse' | 'isSummarised'>
  readonly logger: Logger
}

/** A call of a sign-in. The response already has its `X-Request-Id`. */
export interface SignInCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The path, for the log. */
  readonly route: string
}

/** Answers with the result as JSON, or with the error as a problem, which the log gets too. */
export async function answerSignIn(
  { failedLogins, logger }: SignInAnswering,
  { request, response, route }: SignInCall,
  act: () => Promise<object>,
): Promise<void> {
  const requestId = String(response.getHeader('X-Request-Id'))
  try {
    const answer = Buffer.from(JSON.stringify(await act()))
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': answer.length })
    response.end(answer)
  } catch (thrown) {
    const error = toAppError(toUnavailable(thrown) ?? thrown)
    if (!failedLogins.isSummarised(error)) logRefused(logger, { requestId, error, method: request.method, route })
    await sendError(response, error, { requestId, asProblem: true })
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/**
 * Refuses what no page of the gateway sends.
 * @throws crossSite, unsupportedMediaType
 */
export function refuseForeignRequest(request: IncomingMessage): void {
  refuseCrossSite(request)
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType({}, { headers: { Accept: 'application/json' } })
  }
  refuseEncodedBody(request)
}

/**
 * A page of another site must not sign its visitor in. Browsers say where a request comes from; other programs say
 * nothing, and have no visitor.
 */
function refuseCrossSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  const { origin, host = '' } = headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  if (site !== 'same-origin' || !isOwn) throw crossSite()
}
