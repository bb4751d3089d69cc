import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, resolve } from 'node:path'

const DIST = resolve(import.meta.dirname, '../../../packages/console/dist')
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'"],
  ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ')
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** The page and the operator API of a gateway at one origin. */
export interface ConsoleServer extends AsyncDisposable {
  readonly url: string
}

/** Serves the built page under its policy, and hands calls of the operator API on to a gateway. */
export async function startConsoleServer(adminUrl: string): Promise<ConsoleServer> {
  const server = createServer((incoming, response) => {
    if (incoming.url?.startsWith('/operator/') === true) handOn(adminUrl, incoming, response)
    else sendFile(incoming, response)
  })
  await new Promise<void>((started) => server.listen(0, '127.0.0.1', started))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((ended) => server.close(ended))
    },
  }
}

function handOn(adminUrl: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { method, headers, url } = incoming
  const forwarded = request(`${adminUrl}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  forwarded.on('error', () => response.destroy())
  incoming.pipe(forwarded)
}

function sendFile(incoming: IncomingMessage, response: ServerResponse): void {
  const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
  const asset = join(DIST, path)
  const isAsset = path.startsWith('/assets/') && existsSync(asset)
  const file = isAsset ? asset : join(DIST, 'index.html')
  response.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? '', 'Content-Security-Policy': POLICY })
  response.end(readFileSync(file))
}
