/** What a worker tells its supervisor when it has started. */
export const STARTED = 'started'
