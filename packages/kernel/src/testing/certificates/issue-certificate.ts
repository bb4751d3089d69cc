import { isIP } from 'node:net'
import { generate } from 'selfsigned'
import type { TlsPair } from '../../http/server/tls.ts'

export interface TestAuthority {
  /** Its certificate, in PEM. */
  readonly ca: string
  /** Issues a key and certificate. `hosts` are the names and addresses in the certificate. */
  issue(commonName: string, hosts?: readonly string[]): Promise<TlsPair>
}

const DAY_MS = 86_400_000

/** Creates an authority with a new key. Its certificates are valid from yesterday to tomorrow. */
export async function createTestAuthority(commonName: string): Promise<TestAuthority> {
  const { cert, private: key } = await generate(nameOf(commonName), {
    ...usual(),
    extensions: [{ name: 'basicConstraints', cA: true, critical: true }],
  })
  return {
    ca: toFile(cert),
    async issue(name, hosts = []) {
      const issued = await generate(nameOf(name), {
        ...usual(),
        ca: { cert, key },
        extensions: [{ name: 'basicConstraints', cA: false }, ...namesOf(hosts)],
      })
      return { cert: toFile(issued.cert), key: issued.private }
    },
  }
}

function usual() {
  const now = Date.now()
  const span = { notBeforeDate: new Date(now - DAY_MS), notAfterDate: new Date(now + DAY_MS) }
  return { keyType: 'ec', algorithm: 'sha256', ...span } as const
}

function nameOf(commonName: string) {
  return [{ name: 'commonName', value: commonName }]
}

function namesOf(hosts: readonly string[]) {
  if (hosts.length === 0) return []
  const altNames = hosts.map((host) =>
    isIP(host) === 0 ? ({ type: 2, value: host } as const) : ({ type: 7, ip: host } as const),
  )
  return [{ name: 'subjectAltName', altNames } as const]
}

/** Certificates in one file each begin on their own line. */
function toFile(cert: string): string {
  return `${cert.trimEnd()}\n`
}
