import { expect, it } from 'vitest'
import { runCommand } from '../testing/run-command.ts'

const gateway = ['--admin-url', 'http://127.0.0.1:1', '--reason', 'a test']
const unused = () => Promise.reject(new Error('Nothing is asked'))
const run = (line: string) =>
  runCommand([...line.split(' '), ...gateway], { fetch: unused, operatorToken: 'the-token-of-an-operator' })

it.each([
  ['orders correct ord_1 --currency EUR', '--if-version'],
  ['orders correct ord_1 --if-version 1', '--currency'],
  ['orders correct ord_1 --if-version 0 --currency EUR', '--if-version'],
  ['orders correct ord_1 --if-version 1 --item 2x1.50:book', '2x1999:book'],
  ['orders correct ord_1 --if-version 1 --item 2x150', '2x1999:book'],
  ['receipts release', '--all'],
  ['receipts release rcpt_1 --all', '--all'],
  ['receipts release rcpt_1 --dry-run', '--dry-run needs --all'],
])('%s is wrong usage, and nothing is asked', async (line, says) => {
  const { exitCode, stderr } = await run(line)
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(says) })
})
