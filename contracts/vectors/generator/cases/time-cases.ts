import { accepted, type Delivered, isTimed, type Recipe, refused, signedLines } from '../recipe.ts'
import { NOW, type Vector } from '../vector.ts'

/** The signed time, if there is one: both edges of the window, and signed values that are not times. */
export function timeCases(recipe: Recipe): Vector[] {
  if (!isTimed(recipe)) return []
  const away = (seconds: number) => ({ headers: signedLines(recipe, { time: String(NOW + seconds) }) })
  return [
    accepted(recipe, 'the time is 290 s ago', away(-290)),
    ...edgesOfWindow(recipe, 'the time', away),
    refused(recipe, 'the time is a day ago', away(-86_400)),
    refused(recipe, 'the time is ten years ahead', away(315_360_000)),
    refused(recipe, 'the time is 11 s ago and the provider allows 10 s', {
      ...away(-11),
      settings: { ...recipe.settings, toleranceSeconds: 10 },
    }),
    accepted(recipe, 'the time is 3600 s ago and the provider allows 3600 s', {
      ...away(-3_600),
      settings: { ...recipe.settings, toleranceSeconds: 3_600 },
    }),
    ...noTimes(recipe).map(([why, time]) =>
      refused(recipe, `the time ${why}, and is signed so`, { headers: signedLines(recipe, { time }) }),
    ),
  ]
}

/** Both edges of the window, inside and outside. `away`: a delivery that is signed this many seconds from now. */
export function edgesOfWindow(recipe: Recipe, time: string, away: (seconds: number) => Delivered): Vector[] {
  return [
    accepted(recipe, `${time} is 300 s ago, the edge of the window`, away(-300)),
    accepted(recipe, `${time} is 300 s ahead, the edge of the window`, away(300)),
    refused(recipe, `${time} is 301 s ago`, away(-301)),
    refused(recipe, `${time} is 301 s ahead`, away(301)),
  ]
}

function noTimes(recipe: Recipe): (readonly [why: string, time: string])[] {
  const time = String(NOW)
  return [
    ['has a plus sign', `+${time}`],
    ['has a minus sign', `-${time}`],
    ['has a decimal point', `${time}.0`],
    ['has an exponent', '1.76e9'],
    ['has a blank before it', ` ${time}`],
    ['has a blank behind it', `${time} `],
    ['is hexadecimal', `0x${Number(time).toString(16)}`],
    ['has letters behind it', `${time}abc`],
    ['is in microseconds', `${time}000000`],
    ...(recipe.millisecondsToo === true ? [] : [['is in milliseconds', `${time}000`] as const]),
    ['is no number', 'now'],
    ['is empty', ''],
    ['has one digit too few', time.slice(0, -1)],
    ['has a leading zero', `0${time}`],
    ['has an underscore', `${time.slice(0, 4)}_${time.slice(4)}`],
    ['is an ISO 8601 time', '2025-10-09T08:53:20Z'],
    ['has digits that are not ASCII', time.replace('1', '\u00b9')],
    ['says NaN', 'NaN'],
    ['says Infinity', 'Infinity'],
  ]
}
