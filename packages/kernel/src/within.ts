/** What `within` yields when the time ran out first. */
export const LATE: unique symbol = Symbol('late')

/** The value of a promise, or LATE after `ms` milliseconds; the promise itself goes on. Rejections pass through. */
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
