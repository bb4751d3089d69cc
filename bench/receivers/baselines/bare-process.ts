// The least that answers an authentic delivery: it reads no JSON and stores nothing. It shows what HTTP and the signature
// cost on this machine, and so the limit of any receiver in one Node.js process.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = createSecretKey(Buffer.from(process.env.NAIVE_SECRET ?? ''))
const ANSWER = Buffer.from('{"received":true}')
const HEADERS = { 'content-type': 'application/json', 'content-length': ANSWER.length }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const authentic = isAuthentic(String(request.headers['stripe-signature']), Buffer.concat(chunks))
    response.writeHead(authentic ? 200 : 401, HEADERS).end(ANSWER)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))

function isAuthentic(header: string, body: Buffer): boolean {
  const [, time, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
  if (time === undefined || given === undefined) return false
  const expected = createHmac('sha256', key).update(`${time}.`).update(body).digest()
  return timingSafeEqual(expected, Buffer.from(given, 'hex'))
}
