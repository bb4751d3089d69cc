/**
 * Loads the library for tokens (JWT). Not with the code that uses it: a gateway takes deliveries before it calls anybody,
 * and few providers send such tokens.
 */
export function loadJose(): Promise<typeof import('jose')> {
  return import('jose')
}
