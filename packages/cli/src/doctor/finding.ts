/** The result of a check: a message and, for a problem, the fix. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'failure'
  readonly message: string
  readonly todo?: string
}

export function ok(check: string, message: string): Finding {
  return { check, level: 'ok', message }
}

/** The check passed, but needs attention. */
export function warning(check: string, message: string, todo: string): Finding {
  return { check, level: 'warning', message, todo }
}

export function failure(check: string, message: string, todo: string): Finding {
  return { check, level: 'failure', message, todo }
}
