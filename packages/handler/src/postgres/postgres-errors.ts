const IN_FAILED_TRANSACTION = '25P02'
const LOCK_NOT_AVAILABLE = '55P03'
const REPEATABLE = new Set(['40001', '40P01'])
const MAX_CHAIN = 8

/** Whether PostgreSQL rolled the transaction back because of another one, so that it may succeed when it is repeated. */
export function isSerializationFailure(error: unknown): boolean {
  return REPEATABLE.has(codeOf(error))
}

/** Whether a query waited too long for the lock of another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE
}

/** Whether a query was refused because an earlier one of its transaction failed. */
export function isFailedTransaction(error: unknown): boolean {
  return codeOf(error) === IN_FAILED_TRANSACTION
}

/** The code that PostgreSQL gave. Query builders put the error of `pg` into the cause of theirs. */
function codeOf(error: unknown): string {
  let candidate = error
  for (let depth = 0; depth < MAX_CHAIN && candidate instanceof Error; depth += 1) {
    if ('code' in candidate && typeof candidate.code === 'string' && /^[0-9A-Z]{5}$/.test(candidate.code)) {
      return candidate.code
    }
    candidate = candidate.cause
  }
  return ''
}
