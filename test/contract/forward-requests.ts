import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A server in front of another one. */
interface Forwarder extends AsyncDisposable {
  readonly url: string
}

/** An answer that was passed on, and the path of its request. */
export interface PassedAnswer {
  readonly path: string
  readonly isOk: boolean
  readonly text: string
  /** What no pattern of a contract can forbid. */
  readonly flaw: string | undefined
  /** Why it is no success, in the words of the provider. */
  readonly reason: string | undefined
}

/** Starts a server that forwards each request to the server that `target` names then, and hands each answer to `hear`. */
export async function forwardRequests(target: () => string, hear: (answer: PassedAnswer) => void): Promise<Forwarder> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/' } = request
    const headers = { ...request.headers, host: new URL(target()).host, 'accept-encoding': 'identity' }
    const sent = send(new URL(path, target()), { method, headers, agent: false }).end(await buffer(request))
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const [{ statusCode: status = 0 }, body] = [answer, await buffer(answer)]
    const [isOk, text] = [status < 400, body.toString()]
    const reason = isOk ? undefined : reasonIn(text)
    hear({ path, isOk, text, flaw: flawOf(answer.headers), reason })
    response.writeHead(status, answer.rawHeaders).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

// Where nothing else says how long it takes.
const LONGEST_SECONDS = 60

/** A coding that nobody asked for, or a time to wait that is not in seconds: a pattern takes any number. */
function flawOf({ ratelimit, 'retry-after': wait, ...headers }: IncomingHttpHeaders): string | undefined {
  if (headers['content-encoding'] !== undefined) return `in ${headers['content-encoding']}, unasked`
  const [, left] = /;r=0;t=(\d+)/.exec(String(ratelimit)) ?? []
  const [, most = LONGEST_SECONDS] = /;w=(\d+)/.exec(String(headers['ratelimit-policy'])) ?? []
  const isRight = left === undefined || wait === undefined ? Number(wait ?? 0) <= LONGEST_SECONDS : wait === left
  if (isRight && Number(left ?? 0) <= Number(most)) return undefined
  return `Retry-After is ${wait}, and RateLimit ${ratelimit}, in seconds of a window of ${most}`
}

/** What an error says: that of the operator API and of fulfilment, or a problem of HTTP. */
function reasonIn(text: string): string {
  try {
    const { error, code, title, detail } = JSON.parse(text)
    if (typeof error === 'object') return `${error.data?.reason}: ${error.message}`
    return [code, error ?? detail ?? title].filter(Boolean).join(': ')
  } catch {
    return text.slice(0, 200)
  }
}
