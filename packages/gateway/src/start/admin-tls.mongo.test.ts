import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { TlsPair } from '@oncehook/kernel/http/server/tls'
import { createTestAuthority } from '@oncehook/kernel/testing/certificates/issue-certificate'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

const authority = await createTestAuthority('tests')

/** Requests a path over TLS. Returns the name in the certificate, and the status line. */
function ask(url: string, path: string): Promise<{ name: string; status: string }> {
  return new Promise((resolve, reject) => {
    // A test certificate: the test only checks which one is used.
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false })
    let text = ''
    let name = ''
    socket.on('secureConnect', () => {
      name = String(socket.getPeerCertificate().subject.CN)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
    })
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on('error', reject).on('close', () => resolve({ name, status: text.split('\r\n', 1)[0] ?? '' }))
  })
}

it('ADMIN_TLS_*: the private listener accepts only https, and uses a renewed certificate without a restart', async () => {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-tls-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const write = async ({ cert, key }: TlsPair): Promise<void> => {
    await writeFile(certFile, cert)
    await writeFile(keyFile, key)
  }
  const [first, second] = [await authority.issue('first'), await authority.issue('second')]
  await write(first)
  const database = resources.use(await testDatabase(process.env))
  const settings = { ADMIN_TLS_CERT_FILE: certFile, ADMIN_TLS_KEY_FILE: keyFile }
  const gateway = resources.use(await startGateway({ database, settings }))

  expect(await ask(gateway.adminUrl, '/livez')).toEqual({ name: 'first', status: 'HTTP/1.1 200 OK' })
  expect((await ask(gateway.adminUrl, '/operator/overview')).status).toBe('HTTP/1.1 401 Unauthorized')
  await expect(fetch(`${gateway.adminUrl}/livez`)).rejects.toThrow()

  await writeFile(certFile, second.cert)
  const linesOf = (msg: string) => gateway.logs.filter((line) => line.msg === msg)
  const has = (msg: string, members: object) =>
    expect.poll(() => linesOf(msg)).toContainEqual(expect.objectContaining(members))
  const problems = ['ADMIN_TLS_KEY_FILE is not the key of ADMIN_TLS_CERT_FILE']
  await has('tls.refused', { settings: 'ADMIN_TLS', problems })
  expect((await ask(gateway.adminUrl, '/livez')).name).toBe('first')
  await write(second)
  await has('tls.changed', { settings: 'ADMIN_TLS' })
  expect(await ask(gateway.adminUrl, '/livez')).toEqual({ name: 'second', status: 'HTTP/1.1 200 OK' })
  expect(JSON.stringify(gateway.logs)).not.toContain('PRIVATE KEY')

  // A connection without a handshake does not hold up the stop.
  const silent = connectPlain({ host: '127.0.0.1', port: Number(new URL(gateway.adminUrl).port) })
  resources.defer(() => void silent.destroy())
  await once(silent, 'connect')
  expect(await gateway.close()).toBe(true)
})
