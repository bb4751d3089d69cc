/** What a worker tells its supervisor when it takes deliveries. */
export const STARTED = 'started'
