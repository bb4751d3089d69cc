// Tests the running system against its OpenAPI document: npm run test:api.
import { setup as startMongod } from '../test/support/mongod/mongod-setup.ts'
import { startStack } from '../test/support/stack/stack.ts'
import { installPythonTool } from './python-tools/install-python-tool.ts'
import { runSchemathesis } from './schemathesis/run-schemathesis.ts'

const [cases = '2000', ...args] = process.argv.slice(2)
const NO_LIMITS = { RATE_LIMIT_API: '0', RATE_LIMIT_FAILED: '0', RATE_LIMIT_PROVIDER: '0' }

// Our configuration is written for the one version that python-tools/schemathesis.txt pins.
const SCHEMATHESIS = { name: 'schemathesis', command: 'schemathesis' }

const tool = await installPythonTool(SCHEMATHESIS, process.env, console.error)
const stopMongod = await startMongod()
try {
  await using stack = await startStack({ gateway: NO_LIMITS })
  const api = { url: stack.url, token: stack.secrets.apiToken, webhookSecret: stack.secrets.acme.current }
  const report = await runSchemathesis(tool, api, { cases: Number(cases), args })
  console.log(`${report.cases} cases, ${cases} were requested`)
  process.exitCode = report.exitCode
} finally {
  await stopMongod?.()
}
