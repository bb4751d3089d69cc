import { expect, it } from 'vitest'
import { toVisibleJson } from './audit-page.tsx'

it.each([
  ['turns the text around', 'pi_\u202Eevil', 'pi_\\u202eevil'],
  ['shows nothing', 'pi_\u200B1', 'pi_\\u200b1'],
  ['is a character of two units', 'pi_\u{E0041}', 'pi_\\udb40\\udc41'],
  ['ends a line', 'pi_\u2028', 'pi_\\u2028'],
])('what %s in an id of the details is shown as an escape', (_, id, shown) => {
  expect(toVisibleJson({ payment: id })).toBe(`{"payment":"${shown}"}`)
  expect(JSON.parse(toVisibleJson({ payment: id }))).toEqual({ payment: id })
})
