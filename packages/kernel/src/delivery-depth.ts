/** How many levels the body of a delivery may have: more than any payment has, and few enough for every later reader. */
export const DELIVERY_DEPTH = 512

/** How many levels a task may have, and the reader of one must accept: the gateway writes an object around the body. */
export const TASK_DEPTH = DELIVERY_DEPTH + 1
