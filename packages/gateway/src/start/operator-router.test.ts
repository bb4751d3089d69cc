import { expect, it } from 'vitest'
import { z } from 'zod'
import { reasonSchema } from '../operator/input-text.ts'
import { operatorRouter } from './operator-router.ts'

interface Procedure {
  readonly _def: { readonly inputs: readonly z.ZodType[] }
}

type Schema = z.core.JSONSchema.BaseSchema

const PROCEDURES = Object.entries(operatorRouter._def.procedures as unknown as Record<string, Procedure>)

// Of C0, DEL and C1.
const CONTROLS = ['\u0000', '\u0007', '\n', '\u001b', '\u007f', '\u0085']
const LENGTHS = Array.from({ length: 300 }, (_, length) => length)

/** Whether a text of some length can have a control character, at its beginning or its end. */
function takesControls({ pattern, allOf = [] }: Schema): boolean {
  const patterns = [pattern, ...allOf.map((one) => one.pattern)].filter((one) => one !== undefined)
  const rules = patterns.map((one) => new RegExp(one, 'u'))
  const texts = CONTROLS.flatMap((control) =>
    LENGTHS.flatMap((n) => [control + 'a'.repeat(n), 'a'.repeat(n) + control]),
  )
  return texts.some((text) => rules.every((rule) => rule.test(text)))
}

/** What is not bounded in a schema and in all those in it, with the place of each. */
function problemsOf(schema: Schema, place: string): string[] {
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  if (parts.length > 0) return parts.flatMap((part) => problemsOf(part, place))
  if (schema.enum !== undefined || schema.const !== undefined) return []
  const unless = (isRight: boolean, problem: string): string[] => (isRight ? [] : [`${place} ${problem}`])
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  switch (schema.type) {
    case 'boolean':
    case 'null':
      return []
    case 'string':
      return [
        ...unless(schema.maxLength !== undefined, 'is a text of any length'),
        ...unless(!takesControls(schema), 'may have control characters'),
      ]
    case 'integer':
    case 'number':
      return unless(Number.isFinite(minimum) && Number.isFinite(maximum), 'is a number of any size')
    case 'array':
      return [
        ...unless(schema.maxItems !== undefined, 'is a list of any length'),
        ...problemsOf(schema.items as Schema, `${place}[]`),
      ]
    case 'object':
      return [
        ...unless(schema.additionalProperties === false, 'may have unknown members'),
        ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
          problemsOf(member as Schema, `${place}.${name}`),
        ),
      ]
    default:
      return [`${place} is of a kind that has no bounds here`]
  }
}

it('every input of the operator API is bounded, of known members, and without control characters', () => {
  const inputs = PROCEDURES.flatMap(([name, { _def }]) => {
    const [input, ...others] = _def.inputs
    if (input === undefined || others.length > 0) return [`${name} does not have one input`]
    return problemsOf(z.toJSONSchema(input, { io: 'input', reused: 'inline' }), name)
  })
  expect(inputs).toEqual([])
})

it.each([
  ['of nothing that shows', '\u200b\u200b\u200b', false],
  ['of letters that are blank', '\u3164\u3164\u3164', false],
  ['of tags', '\u{e0041}\u{e0042}\u{e0043}', false],
  ['that is shown in another order', 'paid \u202eton', false],
  ['of two lines', 'a refund\u2028by alice', false],
  ['with half a character', 'a refund\ud800', false],
  ['in Persian', 'نمی\u200cخواهم', true],
  ['with an emoji', 'refund 👩\u200d💻', true],
])('the reason of an action, %s', (_, reason, isTaken) => {
  expect(reasonSchema.safeParse(reason).success).toBe(isTaken)
})
