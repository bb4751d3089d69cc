import { accepted, linesAround, type Recipe, refused, signatureOf, signedLines } from '../recipe.ts'
import { NOW, type Vector } from '../vector.ts'

/** The signature's header itself: its name in every case, missing, empty, repeated. */
export function headerCases(recipe: Recipe): Vector[] {
  const [signature, ...others] = signedLines(recipe)
  if (signature === undefined) throw new Error('A recipe without a header')
  const [name, value] = signature
  const wrong = [name.toUpperCase(), value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))] as const
  return [
    ...[name.toLowerCase(), name.toUpperCase(), mixCase(name)].map((spelt) =>
      accepted(recipe, `the header is named ${spelt}`, { headers: [[spelt, value], ...others] }),
    ),
    refused(recipe, 'no signature header', { headers: others }),
    refused(recipe, 'the signature header is empty', { headers: [[name, ''], ...others] }),
    refused(recipe, 'the signature header stands twice', { headers: [signature, signature, ...others] }),
    refused(recipe, 'the signature header stands twice, once in another case and wrong', {
      headers: [signature, wrong, ...others],
    }),
    ...(recipe.list === undefined && recipe.blankSeparated === undefined
      ? [
          refused(recipe, 'two signature headers were joined by a comma', {
            headers: [[name, `${value}, ${value}`], ...others],
          }),
        ]
      : []),
    ...timeHeaderCases(recipe),
    ...otherLineCases(recipe),
  ]
}

/** The other headers that are signed. */
function otherLineCases(recipe: Recipe): Vector[] {
  const all = signedLines(recipe)
  return (recipe.lines ?? []).flatMap(([name, value]) => {
    const others = all.filter(([one]) => one !== name)
    return [
      refused(recipe, `no header ${name}`, { headers: others }),
      refused(recipe, `the header ${name} is empty`, { headers: [...others, [name, '']] }),
      refused(recipe, `the header ${name} stands twice`, { headers: [...all, [name, value]] }),
      refused(recipe, `the header ${name} stands twice, in another case`, {
        headers: [...all, [name.toUpperCase(), `${value}x`]],
      }),
      refused(recipe, `the header ${name} was changed`, { headers: [...others, [name, `${value}x`]] }),
    ]
  })
}

function timeHeaderCases(recipe: Recipe): Vector[] {
  const { timeHeader } = recipe
  if (timeHeader === undefined) return []
  const [signature] = signedLines(recipe)
  if (signature === undefined) return []
  const { lines = [] } = recipe
  const time = String(NOW)
  return [
    refused(recipe, 'no header of the time', { headers: [signature, ...lines] }),
    refused(recipe, 'only the header of the time', { headers: [[timeHeader, time]] }),
    refused(recipe, 'the header of the time is empty', { headers: [signature, [timeHeader, ''], ...lines] }),
    refused(recipe, 'the header of the time stands twice', {
      headers: [signature, [timeHeader, time], [timeHeader, time], ...lines],
    }),
    refused(recipe, 'the header of the time stands twice, with two times', {
      headers: [signature, [timeHeader, time], [timeHeader.toUpperCase(), String(NOW - 1)], ...lines],
    }),
    refused(recipe, 'the header of the time was changed', {
      headers: linesAround(recipe, signatureOf(recipe), String(NOW + 1)),
    }),
  ]
}

function mixCase(name: string): string {
  return [...name].map((letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase())).join('')
}
