import type { AddCommand } from '../command.ts'
import { addDeliveryCommand } from '../verify/add-delivery-command.ts'
import { verifyGiven } from '../verify/verify-given.ts'

/** `oncehook verify`: checks whether a delivery is authentic. */
export const addVerifyCommand: AddCommand = (program, deps) =>
  addDeliveryCommand(program, deps, {
    name: 'verify',
    description: 'Check whether a delivery is authentic, with the verifiers of the gateway.',
    examine: verifyGiven,
  })
