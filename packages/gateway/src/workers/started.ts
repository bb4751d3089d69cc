/** The message that a worker sends to its supervisor after it has started. */
export const STARTED = 'started'
