/** The result of `withTimeout` if the time limit was reached. */
export const TIMED_OUT: unique symbol = Symbol('late')

/**
 * Resolves to the value of a promise, or to TIMED_OUT after `ms` milliseconds. The promise itself is not cancelled.
 * Rejections pass through.
 */
export function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, TIMED_OUT)
    const settle = <V>(end: (value: V) => void) => {
      return (value: V): void => {
        clearTimeout(timer)
        end(value)
      }
    }
    promise.then(settle(resolve), settle(reject))
  })
}
