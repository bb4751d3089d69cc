import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)

/** Evaluates an expression in a separate process that resolves quickly, and returns what it prints. */
async function evaluate(expression: string): Promise<string> {
  const source = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    const { resolveQuickly } = await import('${import.meta.resolve('./resolve-quickly.ts')}')
    resolveQuickly()
    console.log(await (${expression}))`
  // A file beside this one asks for what the expression imports.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: import.meta.dirname,
  })
  return stdout.trim()
}

describe('resolveQuickly', () => {
  it('loads our files, which name each other, and each only once', async () => {
    const [settings, secret] = ['./settings.ts', './secret.ts'].map((file) => import.meta.resolve(file))
    const sameClass = `import('${settings}').then(async () => (await import('${secret}')).Secret.name)`
    expect(await evaluate(sameClass)).toBe('Secret')
    const times = `import('${settings}').then(() => loaded.filter((url) => url === '${secret}').length)`
    expect(await evaluate(times)).toBe('1')
  })

  it('loads zod without the translations of its messages', async () => {
    const zod = import.meta.resolve('zod')
    const loads = `import('${zod}').then(({ z }) => z.string().safeParse('a').success + ' ' + loaded.map((url) => /locales.(.*)/.exec(url)?.[1]).filter(Boolean))`
    expect(await evaluate(loads)).toBe('true en.js')
  })

  it('says which file is missing', async () => {
    const missing = `import('./' + 'absent.ts').catch(({ code, message }) => code + ' ' + message)`
    expect(await evaluate(missing)).toMatch(/^(ENOENT|ERR_MODULE_NOT_FOUND) .*absent\.ts/)
  })
})
