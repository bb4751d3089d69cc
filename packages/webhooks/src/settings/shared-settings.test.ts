import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { type SharedSettings, sharedShape } from './shared-settings.ts'

it('the type of the settings is what their schema reads', () => {
  type Read = z.output<z.ZodObject<typeof sharedShape>>
  expectTypeOf<Read>().toExtend<SharedSettings>()
  expectTypeOf<keyof Read>().toEqualTypeOf<keyof SharedSettings>()
  const read: SharedSettings = z.object(sharedShape).parse({ secrets: [{ id: 'a', value: { env: 'SECRET' } }] })
  expect(read).toEqual({ secrets: [{ id: 'a', value: { env: 'SECRET' } }], toleranceSeconds: 300 })
})
