import { type FindOptions, findGoServer, type GoServer } from '../process/find-go-server'
import { goBuild } from '../process/go-install'

const SEAWEEDFS: GoServer = {
  title: 'SeaweedFS',
  program: 'weed',
  module: 'github.com/seaweedfs/seaweedfs@latest',
  build: (options) => goBuild({ ...options, directory: 'weed' }),
  setting: 'SEAWEEDFS_BIN',
  versionArgs: ['version'],
}

/** Returns the path of SeaweedFS' server. Rejects with the reasons if no program is found. */
export const findSeaweedfs = (env: NodeJS.ProcessEnv, options?: FindOptions): Promise<string> =>
  findGoServer(SEAWEEDFS, env, options)
