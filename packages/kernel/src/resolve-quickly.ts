import { type ResolveFnOutput, registerHooks } from 'node:module'

const NOTHING = 'data:text/javascript,'

/**
 * Makes imports quicker for the rest of the process. Node searches all parent folders again for each file that imports a
 * package: with this, our own packages are searched for once. And zod's translations of its messages, 64 files that its
 * entry point loads, stay out. Both together take a twelfth of the time until the gateway accepts its first delivery.
 */
export function resolveQuickly(): void {
  const resolved = new Map<string, ResolveFnOutput>()
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === '../locales/index.js' && context.parentURL?.includes('/node_modules/zod/')) {
        return { url: NOTHING, shortCircuit: true }
      }
      if (!specifier.startsWith('@oncehook/')) return next(specifier, context)
      const known = resolved.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
      resolved.set(specifier, known)
      return known
    },
  })
}
