import * as errors from '@oncehook/gateway/errors'
import { operatorRouter } from '@oncehook/gateway/start/operator-router'
import * as sharedErrors from '@oncehook/kernel/http/error-codes'
import { eventInvalid, overloaded } from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { describeErrors, type FulfilmentDescription, type Procedure, toSchema } from './describe-fulfilment.ts'

const OF_WEBHOOKS = { eventInvalid, overloaded }
const procedures = Object.entries(operatorRouter._def.procedures as unknown as Record<string, Procedure>)

/** Describes what the operator API takes, and its errors. What it answers is in the contract of each that reads it. */
export function describeOperator(): FulfilmentDescription {
  const described = procedures.map(([name, { _def }]) => {
    const input = toSchema(_def.inputs[0] ?? z.unknown(), 'input')
    return [name, { kind: _def.type, input, output: {} }] as const
  })
  return { procedures: Object.fromEntries(described), errors: describeErrors(errors, sharedErrors, OF_WEBHOOKS) }
}
