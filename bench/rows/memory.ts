import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import type { Row } from '../row.ts'
import { createMemoryTrial } from '../trials/memory-trial.ts'

const AFTER_A_MILLION = createMemoryTrial({
  name: 'after-a-million',
  title: 'Oncehook after very many accepts',
  start: startAccepting,
})

/** Whether the gateway grows with what it has accepted. The short form looks after 50 thousand. */
export const MEMORY_ROW: Row = {
  name: 'memory',
  trials: [AFTER_A_MILLION],
  goals: [
    {
      what: 'Memory of the gateway after 1 million accepts',
      against: 'absolute',
      figure: (read) => read(AFTER_A_MILLION, 'residentMib'),
      unit: 'MiB',
      direction: 'at most',
      target: 200,
      aim: 150,
    },
  ],
}
