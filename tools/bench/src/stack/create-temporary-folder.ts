import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cleanups } from '../process/cleanups'

/** Creates a temporary folder, which the cleanups remove. */
export const createTemporaryFolder = async (cleanups: Cleanups): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-bench-'))
  cleanups.add(() => rm(folder, { recursive: true, force: true }))
  // When root runs the benchmark, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o711)
  return folder
}
