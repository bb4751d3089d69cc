/** What a check found: one line, and what to do about it where something is to be done. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warning' | 'failure'
  readonly says: string
  readonly todo?: string
}

/** All is well. */
export function ok(check: string, says: string): Finding {
  return { check, level: 'ok', says }
}

/** It works, and somebody should look. */
export function warning(check: string, says: string, todo: string): Finding {
  return { check, level: 'warning', says, todo }
}

/** It does not work. */
export function failure(check: string, says: string, todo: string): Finding {
  return { check, level: 'failure', says, todo }
}
