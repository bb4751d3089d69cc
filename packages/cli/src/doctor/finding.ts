/** The result of a check: a message and, for a problem, the fix. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'failure'
  readonly says: string
  readonly todo?: string
}

/** The check passed. */
export function ok(check: string, says: string): Finding {
  return { check, level: 'ok', says }
}

/** The check passed, but needs attention. */
export function warning(check: string, says: string, todo: string): Finding {
  return { check, level: 'warning', says, todo }
}

/** The check failed. */
export function failure(check: string, says: string, todo: string): Finding {
  return { check, level: 'failure', says, todo }
}
