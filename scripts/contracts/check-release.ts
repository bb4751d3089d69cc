import { type Break, compareSchemas } from './compare-schemas.ts'
import type { DescribedProcedure, FulfilmentDescription } from './describe-fulfilment.ts'
import { errorProblems } from './error-problems.ts'
import { findUnpromised } from './find-unpromised.ts'
import type { RecordedCall, RecordedCalls } from './recorded-calls.ts'

/** What a release recorded: a description of fulfilment, and the calls that its consumers relied on. */
export interface Release {
  readonly version: string
  readonly description: FulfilmentDescription
  readonly consumers: readonly RecordedCalls[]
}

/** Fulfilment as it is now. */
export interface Current {
  readonly description: FulfilmentDescription
  /** Why a procedure does not accept an input, or null if it does. */
  readonly inputProblem: (procedure: string, input: unknown) => string | null
}

/**
 * Lists what the current fulfilment breaks for callers of a release, one line each. The recorded calls come first, with
 * the consumer's name. Then come the promises that the schemas made to any caller.
 */
export function checkRelease(release: Release, current: Current): string[] {
  const known = release.consumers.flatMap(({ consumer, calls }) =>
    calls.flatMap((call) => {
      const who = `the consumer ${consumer} of ${release.version}, which ${call.does}`
      return callProblems(call, current).map((problem) => `${who}: ${call.procedure}, ${problem}`)
    }),
  )
  const promised = describeBreaks(release.description, current.description)
  return [...known, ...promised.map((problem) => `${callersOf(release, problem)}: ${problem}`)]
}

function callersOf({ version, consumers }: Release, problem: string): string {
  const callers = consumers.filter(({ calls }) => calls.some(({ procedure }) => problem.startsWith(`${procedure},`)))
  const names = callers.map(({ consumer }) => consumer)
  return names.length === 0 ? `any caller of ${version}` : `the consumer ${names.join(', ')} of ${version}`
}

function callProblems(call: RecordedCall, { description, inputProblem }: Current): string[] {
  const procedure = description.procedures[call.procedure]
  if (procedure === undefined) return ['the procedure is gone']
  if (procedure.kind !== call.kind) return [`the procedure was a ${call.kind}, is a ${procedure.kind}`]
  return [...inputProblems(call, inputProblem), ...answerProblems(call, procedure, description)]
}

/** Checks only inputs that were accepted. An input that was refused may be accepted now, or still be refused. */
function inputProblems(call: RecordedCall, inputProblem: Current['inputProblem']): string[] {
  if (call.data === undefined) return []
  const problem = inputProblem(call.procedure, call.input)
  return problem === null ? [] : [`the input is no longer taken: ${problem}`]
}

function answerProblems(
  { data, refusal }: RecordedCall,
  { output }: DescribedProcedure,
  { errors }: FulfilmentDescription,
): string[] {
  if (data !== undefined) return findUnpromised(data, output).map((found) => `output ${say(found)}`)
  return refusal === undefined
    ? []
    : errorProblems(refusal.reason, { status: refusal.httpStatus, retry: refusal.retry }, errors)
}

function describeBreaks(before: FulfilmentDescription, now: FulfilmentDescription): string[] {
  const procedures = Object.entries(before.procedures).flatMap(([name, procedure]) =>
    procedureBreaks(procedure, now.procedures[name]).map((problem) => `${name}, ${problem}`),
  )
  return [
    ...procedures,
    ...Object.entries(before.errors).flatMap(([code, meaning]) => errorProblems(code, meaning, now.errors)),
  ]
}

function procedureBreaks(before: DescribedProcedure, now: DescribedProcedure | undefined): string[] {
  if (now === undefined) return ['the procedure is gone']
  if (before.kind !== now.kind) return [`the procedure was a ${before.kind}, is a ${now.kind}`]
  return (['input', 'output'] as const).flatMap((direction) =>
    compareSchemas(direction, before[direction], now[direction]).map((found) => `${direction} ${say(found)}`),
  )
}

function say({ path, problem }: Break): string {
  return `${path}: ${problem}`
}
