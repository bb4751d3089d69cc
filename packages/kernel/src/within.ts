/** What `within` yields when the time ran out first. */
export const LATE: unique symbol = Symbol('late')

/** The value of a promise, or LATE after `ms` milliseconds; the promise itself goes on. Rejections pass through. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | typeof LATE> {
  const late = Promise.withResolvers<typeof LATE>()
  const timer = setTimeout(() => late.resolve(LATE), ms)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
