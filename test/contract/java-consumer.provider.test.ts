import { execFile } from 'node:child_process'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { verifyConsumer } from '../../packages/cli/src/contract/verify-consumer.ts'
import { NOT_TO_BE_HAD, requireTool } from '../../scripts/tools/find-tool.ts'
import { verifySender } from './verify-sender.ts'

const CONSUMER = 'java-shop'
const run = promisify(execFile)

// It runs for some seconds only, in one process.
const MAVEN_OPTS = `${process.env.MAVEN_OPTS ?? ''} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC`.trim()
const SHORT = ['--batch-mode', '--quiet', '-DforkCount=0']

// How Maven says that no repository has a package, or that none answers.
const NOT_FOUND = /could not (?:be resolved|resolve|find artifact|transfer artifact)/i

/** Runs the tests of the consumer, which write its pact into a folder. Resolves to why they cannot run, or to null. */
async function runConsumer(pacts: string, built: string): Promise<string | null> {
  const pom = join(import.meta.dirname, 'java-consumer', 'pom.xml')
  const args = [...SHORT, '--file', pom, `-Dpacts=${pacts}`, `-Dbuilt=${built}`, 'test']
  return await run('mvn', args, { env: { ...process.env, MAVEN_OPTS } }).then(
    () => null,
    (error: Error & { stdout: string }) => {
      if (NOT_FOUND.test(error.stdout)) return `${NOT_TO_BE_HAD}Maven cannot fetch au.com.dius.pact.consumer:junit5`
      throw new Error(`The tests of the consumer ${CONSUMER} fail:\n${error.stdout}`)
    },
  )
}

// The first run fetches the packages.
it('keeps a contract that a team has written in Java', async (context) => {
  await requireTool('maven', context)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'pacts-'))
  const missing = await runConsumer(folder.path, join(folder.path, 'built'))
  if (missing !== null) context.skip(missing)
  const name = `${CONSUMER}-gateway.json`
  const file = join(folder.path, name)
  const checked = verifyConsumer(JSON.parse(await readFile(file, 'utf8')))
  expect(checked).toEqual({ consumer: CONSUMER, provider: 'gateway', interactions: 3, problems: [] })
  expect(await verifySender({ name, file }, CONSUMER)).toEqual(['jv_again', 'jv_new'])
})
