import { MongoClient } from 'mongodb'
import type { Secret } from '../../secret.ts'
import { SettingsError } from '../../settings.ts'

/**
 * Checks the options of a MongoDB URL: writes need a journaled majority, and reads must use the primary. These values
 * may be set explicitly.
 * @throws SettingsError with every problem, without the URL
 */
export function checkMongoUri(uri: Secret): void {
  const { writeConcern, readPreference, readConcern } = optionsOf(uri)
  const problems: string[] = []
  if (writeConcern?.w !== undefined && writeConcern.w !== 'majority')
    problems.push('MONGODB_URI sets a write concern below majority')
  if (writeConcern?.journal === false) problems.push('MONGODB_URI disables the journal')
  if (readPreference.mode !== 'primary')
    problems.push('MONGODB_URI sets another read preference: remove it or set readPreference=primary')
  if (readConcern !== undefined && readConcern.level !== 'majority')
    problems.push('MONGODB_URI sets another read concern: remove it or set readConcernLevel=majority')
  if (problems.length > 0) throw new SettingsError(problems)
}

function optionsOf(uri: Secret): MongoClient['options'] {
  try {
    return new MongoClient(uri.reveal()).options
  } catch {
    // A parse error may quote the URL, and therefore a password.
    throw new SettingsError(['MONGODB_URI cannot be parsed'])
  }
}
