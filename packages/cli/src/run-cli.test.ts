import { describe, expect, it } from 'vitest'
import { runCommand } from './testing/run-command.ts'

describe('runCli', () => {
  it.each([[['--help']], [['help']], [['send', '--help']]])('prints help for %j and exits with 0', async (args) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect(stdout).toContain('Usage: oncehook')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  })

  it.each([[[]], [['unknown']], [['send', 'something']]])('exits with 2 for %j', async (args) => {
    const { exitCode, stdout, stderr } = await runCommand(args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).not.toBe('')
  })

  it('reports other errors, and exits with 1', async () => {
    const readStdin = async () => {
      throw new Error('The pipe is broken')
    }
    const readEnv = (name: string) => (name === 'X' ? 'x' : undefined)
    expect(await runCommand(['sign', '--secret-env', 'X'], { readStdin, readEnv })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/\nUnexpected error: The pipe is broken\n$/),
    })
  })
})
