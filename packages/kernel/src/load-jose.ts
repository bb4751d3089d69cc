/**
 * Loads the JWT library on demand. The gateway accepts deliveries before it calls another service, and few providers
 * send such tokens.
 */
export function loadJose(): Promise<typeof import('jose')> {
  return import('jose')
}
