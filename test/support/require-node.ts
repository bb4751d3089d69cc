import type { TestContext } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'

/** The binary of a version of Node.js. The test is skipped if this machine has none. */
export async function requireNode(major: number, context: TestContext): Promise<string> {
  if (major === 20) return requireTool('node20', context)
  return major === 22 ? requireTool('node22', context) : process.execPath
}
