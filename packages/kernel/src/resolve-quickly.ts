import { type ResolveFnOutput, registerHooks } from 'node:module'

const NOTHING = 'data:text/javascript,'
const OUR_PACKAGES = new URL('../../', import.meta.url).href

/**
 * Makes imports quicker for the rest of the process. Our files name each other exactly, so nothing is searched for. Node
 * searches all parent folders again for each file that imports a package: with this, our own packages are searched for
 * once. And zod's translations of its messages, 64 files that its entry point loads, stay out. Together they take a
 * seventh of the time until the gateway accepts its first delivery.
 */
export function resolveQuickly(): void {
  const resolved = new Map<string, ResolveFnOutput>()
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = '' } = context
      if (specifier.startsWith('.') && specifier.endsWith('.ts') && parentURL.startsWith(OUR_PACKAGES)) {
        return { url: new URL(specifier, parentURL).href, format: 'module-typescript', shortCircuit: true }
      }
      if (specifier === '../locales/index.js' && parentURL.includes('/node_modules/zod/')) {
        return { url: NOTHING, shortCircuit: true }
      }
      if (!specifier.startsWith('@oncehook/')) return next(specifier, context)
      const known = resolved.get(specifier) ?? { ...next(specifier, context), shortCircuit: true }
      resolved.set(specifier, known)
      return known
    },
  })
}
