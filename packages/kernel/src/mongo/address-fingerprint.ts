import { hash } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { fingerprintOf } from '../file-source.ts'
import type { Secret } from '../secret.ts'

/**
 * Creates what tells one address, and one content of the TLS files that it names, from another. Neither can be read from
 * it; 'unreadable' while there is none, for a file that is being replaced may be missing or half written for an instant.
 */
export function createAddressFingerprint(readUri: () => Secret): () => string {
  let known: { readonly uri: string; readonly files: readonly string[] } = { uri: '', files: [] }
  return () => {
    try {
      const uri = readUri().reveal()
      if (uri !== known.uri) known = { uri, files: tlsFilesOf(uri) }
      return hash('sha256', [uri, ...known.files.map(fingerprintOf)].join('\n'))
    } catch {
      return 'unreadable'
    }
  }
}

function tlsFilesOf(uri: string): string[] {
  const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = new MongoClient(uri).options
  return [tlsCAFile, tlsCertificateKeyFile, tlsCRLFile].filter((file) => file !== undefined)
}
