import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { type CommonSettings, commonShape } from './common-settings.ts'

it('the type of the settings is that of their schema’s output', () => {
  type Read = z.output<z.ZodObject<typeof commonShape>>
  expectTypeOf<Read>().toExtend<CommonSettings>()
  expectTypeOf<keyof Read>().toEqualTypeOf<keyof CommonSettings>()
  const read: CommonSettings = z.object(commonShape).parse({ secrets: [{ id: 'a', value: { env: 'SECRET' } }] })
  expect(read).toEqual({ secrets: [{ id: 'a', value: { env: 'SECRET' } }], toleranceSeconds: 300 })
})
