import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { findTool, findTools, missingTool, requireTool } from './find-tool.ts'

// Variables: this test does not use them.
const BROWSER = 'chromium'
const GO = 'go'

afterEach(() => void vi.unstubAllEnvs().restoreAllMocks())

describe('a tool', () => {
  it.each([
    ['runs', '#!/bin/sh\necho 1\n', true],
    ['fails', '#!/bin/sh\nexit 1\n', false],
    ['is an empty file', '', false],
  ])('that %s: is it found?', async (_, script, isFound) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'oncehook-tool-'))
    const path = join(folder.path, 'browser')
    await writeFile(path, script)
    await chmod(path, 0o755)
    vi.stubEnv('TEST_TOOLS', '{}')
    vi.stubEnv('CHROMIUM', path)
    expect(await findTool(BROWSER)).toBe(isFound ? path : null)
  })

  it.each([
    ['is too old', 'echo go1.19.8', false],
    ['cannot download the modules', '[ "$1" = env ] && echo go1.24.4', false],
    ['has the modules', 'echo go1.24.4', true],
  ])('Go that %s: is it found?', async (_, script, isFound) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'oncehook-tool-'))
    await writeFile(join(folder.path, 'go'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    vi.stubEnv('TEST_TOOLS', '{}')
    vi.stubEnv('PATH', folder.path)
    vi.spyOn(console, 'error').mockReturnValue(undefined)
    expect(await findTool(GO)).toBe(isFound ? 'go' : null)
  })

  it('that the runner has looked for is not looked for again', async () => {
    vi.stubEnv('TEST_TOOLS', '{}')
    vi.stubEnv('CHROMIUM', '/nowhere')
    expect(await findTools([BROWSER])).toEqual(new Map([[BROWSER, null]]))
    vi.stubEnv('CHROMIUM', '/bin/true')
    expect(await findTool(BROWSER)).toBe(null)
    await expect(requireTool(BROWSER)).rejects.toThrow(missingTool(BROWSER))
  })
})
