import { resolve } from 'node:path'
import { installOnce } from '../../../scripts/python-tools/install-python-tool.ts'
import { NOT_TO_BE_HAD } from '../../../scripts/test/tally.ts'

const requirements = resolve(import.meta.dirname, '../../../examples/python-fastapi/requirements.txt')

/** The folder with the packages of the FastAPI example, for `PYTHONPATH`; null if they cannot be installed here. */
export async function findPythonPackages(env: NodeJS.ProcessEnv): Promise<string | null> {
  return installOnce({ name: 'python-fastapi', requirements }, env, console.error).catch(() => null)
}

/** Why a test is skipped without them. */
export const NO_PYTHON_PACKAGES = `${NOT_TO_BE_HAD}python3 with pip cannot install the packages of examples/python-fastapi`
