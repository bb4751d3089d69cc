import { fulfilmentRouter } from '@oncehook/fulfilment/router'
import { expect, expectTypeOf, it } from 'vitest'
import type { z } from 'zod'
import { type OutputOf, type ProcedureName, procedureOutputs } from './procedure-outputs.ts'

type Unknown = {
  [Name in ProcedureName]: OutputOf<Name> extends z.output<(typeof procedureOutputs)[Name]> ? never : Name
}[ProcedureName]

it('knows every possible answer of each procedure', () => {
  expectTypeOf<Unknown>().toBeNever() // which the compiler checks
  expect(Object.keys(procedureOutputs).toSorted()).toEqual(Object.keys(fulfilmentRouter._def.procedures).toSorted())
})
