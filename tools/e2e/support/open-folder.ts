import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates a temporary folder that other users may enter, for a stack. If root runs the specs, PostgreSQL runs
 * as another user, and versions before 17 cannot start in a folder that their user cannot enter.
 */
export const openFolder = async (prefix: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  await chmod(folder, 0o711)
  return folder
}
