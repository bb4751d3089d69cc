import { SettingsError } from '../settings/settings.ts'

/**
 * The problems that reading settings reports: none if it succeeds.
 * @throws every error that is not a SettingsError
 */
export function settingsProblems(read: () => unknown): readonly string[] {
  try {
    read()
    return []
  } catch (error) {
    return problemsIn(error)
  }
}

/**
 * The problems of a SettingsError.
 * @throws every other error
 */
export function problemsIn(error: unknown): readonly string[] {
  if (error instanceof SettingsError) return error.problems
  throw error
}
