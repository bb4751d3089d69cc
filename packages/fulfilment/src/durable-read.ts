import { durableRead } from '@oncehook/kernel/mongo/durable-read'

/** Options of every read that affects an answer: 4 s leave a request time for its write. */
export const DURABLE_READ = durableRead(4_000)
