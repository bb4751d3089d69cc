/** The result of `within` if the time limit was reached. */
export const LATE: unique symbol = Symbol('late')

/**
 * Resolves to the value of a promise, or to LATE after `ms` milliseconds. The promise itself is not cancelled.
 * Rejections pass through.
 */
export function within<T>(promise: Promise<T>, ms: number): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, LATE)
    const settle = <V>(end: (value: V) => void) => {
      return (value: V): void => {
        clearTimeout(timer)
        end(value)
      }
    }
    promise.then(settle(resolve), settle(reject))
  })
}
