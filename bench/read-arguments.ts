import { parseArgs } from 'node:util'
import { PlanError } from './plan.ts'

/** Reads the arguments of a benchmark. Its errors begin with the usage. */
export interface ArgumentReader {
  /**
   * The values of options as text, or their defaults.
   * @throws PlanError for any other argument
   */
  options<Name extends string>(args: readonly string[], defaults: Readonly<Record<Name, string>>): Record<Name, string>
  /**
   * Takes a flag without a value out of the arguments.
   * @returns the other arguments, and whether it was there
   */
  flag(args: readonly string[], name: string): readonly [others: readonly string[], isSet: boolean]
  /** @throws PlanError */
  wholeNumber(text: string, range: { readonly least: number; readonly most: number }): number
}

/** Creates the reader of a benchmark with this usage. */
export function createArgumentReader(usage: string): ArgumentReader {
  return {
    options(args, defaults) {
      const options = Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' } as const]))
      try {
        return { ...defaults, ...parseArgs({ args: [...args], options }).values }
      } catch {
        throw new PlanError(usage)
      }
    },
    flag(args, name) {
      const others = args.filter((arg) => arg !== `--${name}`)
      return [others, others.length < args.length]
    },
    wholeNumber(text, { least, most }) {
      const value = Number(text)
      if (text === '' || !Number.isInteger(value) || value < least || value > most) {
        throw new PlanError(`${usage}\n${text || 'Nothing'} is no whole number from ${least} to ${most}`)
      }
      return value
    },
  }
}
