import { hash } from 'node:crypto'
import { MongoClient } from 'mongodb'
import { fingerprintOf } from '../../file-source.ts'
import type { Secret } from '../../secret.ts'

/**
 * Creates a function that identifies a MongoDB URL together with the content of its TLS files, without revealing
 * either. Returns 'unreadable' if a file is missing or incomplete, for example while it is being replaced.
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
  // Creating a client takes milliseconds of each start.
  if (!/(tls|ssl)/i.test(uri)) return []
  const { tlsCAFile, tlsCertificateKeyFile, tlsCRLFile } = new MongoClient(uri).options
  return [tlsCAFile, tlsCertificateKeyFile, tlsCRLFile].filter((file) => file !== undefined)
}
