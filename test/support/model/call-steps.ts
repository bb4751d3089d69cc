import type { CallStepName } from '@oncehook/fulfilment/testing/recording/record-calls'
import { named, type Pair, type TimedStep, timed } from './step-pair.ts'

/** The version of a new order. In the model it is 0. */
const FIRST_VERSION = 1
const NONE = -1

/** The steps of fulfilment. A call carries one event. */
export const CALL_STEPS: Readonly<Record<CallStepName, (pair: Pair) => TimedStep[]>> = {
  read: toStep,
  write: toStep,
  reply: toStep,
}

function toStep(pair: Pair): TimedStep[] {
  const { begin, end } = pair
  const [begun] = named(pair, begin.begun)
  if (begun === undefined) return []
  const [ended] = named(pair, end?.ended)
  const step = {
    ...{ kind: begin.step ?? '', e: begun.id, concern: begin.begun?.concern ?? '', result: begun.result ?? '' },
    call: `${begin.by} ${begin.begun?.call}`,
    isSeen: ended !== undefined,
    version: toModel(begun.version ?? ended?.version),
    isApplied: ended?.isApplied === true,
    verdict: ended?.verdict ?? '',
  }
  return [timed(step, pair)]
}

function toModel(version: number | undefined): number {
  return version === undefined || version === NONE ? NONE : version - FIRST_VERSION
}
