import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atMost, row } from '../row.ts'
import { createMemoryTrial } from '../trials/memory-trial.ts'

const AFTER_A_MILLION = createMemoryTrial({
  name: 'after-a-million',
  title: 'Oncehook after very many accepts',
  start: startAccepting,
})

/** Whether the gateway's memory grows with the number of accepts. The short form checks after 50 thousand. */
export const MEMORY_ROW = row('memory', [AFTER_A_MILLION], {
  what: 'Memory of the gateway after 1 million accepts',
  against: 'absolute',
  figure: (read) => read(AFTER_A_MILLION, 'residentMib'),
  ...atMost('MiB', { target: 200, aim: 150 }),
})
