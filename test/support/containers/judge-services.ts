import type { ContainerService } from './container-services.ts'

/** Names the forbidden contents of a text, without repeating them. */
type FindLeaks = (text: string) => string[]

/**
 * Stops the services, and checks the requirements that apply to every service in every test.
 * @throws if one crashed, did not exit with 0, ran out of memory, or wrote something that `leaksIn` finds
 */
export async function stopAndJudge(services: readonly ContainerService[], leaksIn: FindLeaks): Promise<void> {
  const problems = await Promise.all(
    services.map(async ({ name, container }) => {
      const code = container.alive ? await container.stop() : 0
      if (code === 0) return []
      const why = (await container.written()).split('\n').filter((line) => line.includes('"service.stage-failed"'))
      return [`${name}: ended with ${code} when it was told to stop`, ...why]
    }),
  )
  problems.push(await findProblems(services, leaksIn))
  if (problems.flat().length > 0) throw new Error(problems.flat().join('\n'))
}

/** The problems of the services so far, one sentence each. */
export async function findProblems(services: readonly ContainerService[], leaksIn: FindLeaks): Promise<string[]> {
  const problems = await Promise.all(
    services.map(async ({ name, container }) => {
      const written = await container.written()
      const found = leaksIn(written)
      if (await container.ranOutOfMemory()) found.push('ran out of memory')
      found.push(...written.split('\n').filter((line) => /"(service\.crashed|request\.failed)"/.test(line)))
      return found.map((problem) => `${name}: ${problem}`)
    }),
  )
  return problems.flat()
}
