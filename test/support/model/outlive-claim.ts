import type { RecordedLine } from './recorded-line.ts'
import { deliverUntilAccepted, type RecordedRun } from './recorded-run.ts'

/**
 * Lets a gateway sleep past the end of its claim in the middle of a call. The other gateway takes its event over, and is frozen
 * before it can settle. Then the first one wakes up, its call fails, and it writes the result of a claim that it has lost.
 */
export async function outliveClaim({ stack, gateways, makePayments, untilRecorded }: RecordedRun): Promise<void> {
  const [event] = await makePayments(1, 1)
  if (event === undefined) throw new Error('There is no event')
  stack.fulfilment.pause()
  await deliverUntilAccepted(gateways[0].provider, event)
  const first = await untilRecorded((line) => isCall(line, event.id))
  const isSleeper = ({ pid }: { readonly pid: number }): boolean => pid === first.by
  const [sleeper, heir] = gateways.map(({ service }) => service).toSorted((one) => (isSleeper(one) ? -1 : 1))
  if (sleeper === undefined || heir === undefined) throw new Error('There are not two gateways')
  sleeper.pause()
  await untilRecorded((line) => isCall(line, event.id) && line.by === heir.pid)
  heir.pause()
  // The calls of both are lost. Only the sleeper is awake to see it.
  await stack.fulfilment.kill('SIGKILL')
  sleeper.resume()
  await untilRecorded((line) => line.by === sleeper.pid && isEndOfSettlement(line, event.id))
  heir.resume()
  await stack.fulfilment.start()
}

function isCall({ step, begun }: RecordedLine, id: string): boolean {
  return step === 'call' && begun?.events.some((one) => one.id === id) === true
}

function isEndOfSettlement({ ended }: RecordedLine, id: string): boolean {
  return ended?.events.some((one) => one.id === id && (one.verdict === 'lost' || one.verdict === 'kept')) === true
}
