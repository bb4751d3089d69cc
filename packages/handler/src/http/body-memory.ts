/** The part of one request in the memory for bodies. Once it is disposed of, it grows no more. */
export interface BodyPart extends Disposable {
  /** Takes this many bytes more. False if they would be too many. */
  grow(bytes: number): boolean
}

/** The memory for the bodies of all requests in progress. */
export interface BodyMemory {
  open(): BodyPart
}

/**
 * Creates a memory of this many bytes. Only bytes that have arrived count: a sender that announces a large body and sends
 * nothing takes no room from the others.
 */
export function createBodyMemory(mostBytes: number): BodyMemory {
  let used = 0
  return {
    open() {
      let own = 0
      let isOpen = true
      return {
        grow(bytes) {
          if (!isOpen || used + bytes > mostBytes) return false
          own += bytes
          used += bytes
          return true
        },
        [Symbol.dispose]() {
          isOpen = false
          used -= own
          own = 0
        },
      }
    },
  }
}
